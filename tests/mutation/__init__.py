"""Mutation tests of the tests: does anything fail when one operator of the program is changed?"""
