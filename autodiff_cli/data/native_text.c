/* Numbers as text, and rows of text with numbers in them, on little-endian processors.

   The shortest decimal text of a double is found as in Giulietti, The Schubfach way to render doubles, 2021; a double is read as in
   Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 51, 2021, whose rounding needs no other way
   (Mushtak and Lemire, Fast number parsing without fallback, 2023).  Both use the same table of powers of ten.

   Nothing here allocates or calls a library.  Text that is unusual is left to the caller: a cell in a list, or rows by IRREGULAR. */

typedef unsigned char byte;
typedef int i32;
typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;

enum { IRREGULAR = -1, FIRST_POWER = -342, DEEPEST = 60, LONGEST = 4000 };

/* The kinds of parts of rows. */
enum { LINE, TEXT, FLOAT64, FLOAT32, INTEGER };

/* The top 128 bits of a power of ten, rounded up; a table has those from 10**FIRST_POWER to 10**324. */
typedef struct { u64 high, low; } power_of_ten;

/* A cell whose text the caller converts; its size is -1 if the cell is missing. */
typedef struct { i64 row, number, start, size; } cell;

/* The cells of a block that the caller converts. */
typedef struct { cell *cells; i64 count, most; } cell_list;

/* A part of each row: a text that is equal in all rows, then a value.

   The value is a number of the array `values`, the text of `values` from starts[row] to ends[row], or the next line of `values`, which
   reaches to `end`, without its last `cut` bytes. */
typedef struct { const char *lead; i64 lead_size, kind; const void *values; const i32 *starts, *ends; const char *end; i64 cut; } part;

static double double_of(u64 bits) { double x; __builtin_memcpy(&x, &bits, 8); return x; }
static i64 is_digit(char c) { return (byte)(c - '0') < 10; }

/* Copies a short text; a loop of single bytes would be slow, and a call would be slower. */
static inline char *put(char *out, const char *text, i64 size)
{
    __builtin_memcpy(out, text, (u64)size);
    return out + size;
}

/* ---- Writing numbers ---- */

static const char PAIRS[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* Writes a number with the given number of digits. */
static char *put_digits(char *out, u64 number, i64 digits)
{
    char *end = out + digits;
    while (digits >= 2) {
        u64 rest = number / 100;
        digits -= 2;
        __builtin_memcpy(out + digits, PAIRS + 2 * (number - 100 * rest), 2);
        number = rest;
    }
    if (digits)
        out[0] = (char)('0' + number);
    return end;
}

static i64 count_digits(u64 number)
{
    i64 digits = 1;
    for (; number >= 10000; number /= 10000)
        digits += 4;
    return digits + (number >= 10) + (number >= 100) + (number >= 1000);
}

/* Returns the top 64 bits of a product, whose last bit is set if any of the other bits is (the lowest one apart). */
static u64 round_to_odd(const power_of_ten *power, u64 factor)
{
    u128 high = (u128)power->high * factor, low = (u128)power->low * factor;
    u128 middle = (u64)high + (low >> 64);
    u64 top = (u64)(high >> 64) + (u64)(middle >> 64);
    return top | ((u64)middle > 1);
}

/* Finds the shortest decimal number in the rounding interval of a positive number, the nearest one if there are several.

   size is the number of bits of the fraction, and least the exponent of the last bit of the smallest number. */
static u64 shortest(u64 bits, i64 size, i64 least, const power_of_ten *powers, i64 *exponent)
{
    u64 fraction = bits & ((1ull << size) - 1);
    i64 biased = (i64)(bits >> size);
    u64 significand = biased ? fraction | 1ull << size : fraction;
    i64 binary = biased ? biased - 1 + least : least;
    if (biased && binary <= 0 && binary >= -size && !(significand & ((1ull << -binary) - 1))) {
        *exponent = 0;  /* an integer */
        return significand >> -binary;
    }
    i64 odd = significand & 1, closer = !fraction && biased > 1;  /* the lower neighbor is closer at a power of two */
    i64 decimal = closer ? (binary * 1262611 - 524031) >> 22 : (binary * 1262611) >> 22;
    i64 shift = binary + ((-decimal * 1741647) >> 19) + 1;
    const power_of_ten *power = powers + (-decimal - FIRST_POWER);
    u64 lower = round_to_odd(power, (4 * significand - 2 + (u64)closer) << shift) + (u64)odd;
    u64 middle = round_to_odd(power, 4 * significand << shift);
    u64 upper = round_to_odd(power, (4 * significand + 2) << shift) - (u64)odd;
    u64 digits = middle / 4;
    if (digits >= 10) {
        u64 tens = digits / 10;
        i64 below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above) {
            *exponent = decimal + 1;
            return tens + (u64)above;
        }
    }
    *exponent = decimal;
    i64 below = lower <= 4 * digits, above = 4 * digits + 4 <= upper;
    if (below != above)
        return digits + (u64)above;
    u64 half = 4 * digits + 2;
    return digits + (middle > half || (middle == half && (digits & 1)));
}

static char *put_integer(char *out, i64 number)
{
    if (number < 0)
        *out++ = '-';
    u64 size = number < 0 ? -(u64)number : (u64)number;
    return put_digits(out, size, count_digits(size));
}

/* Writes a number as Python's repr does, in JSON with quotes around a number that is not finite; at most 26 bytes. */
static char *put_number(char *out, const part *own, i64 row, const power_of_ten *powers, char decimal, i64 json)
{
    i64 is_double = own->kind == FLOAT64, bits = is_double ? 52 : 23;
    u64 whole = is_double ? ((const u64 *)own->values)[row] : ((const u32 *)own->values)[row];
    u64 infinite = is_double ? 0x7FFull << 52 : 0xFFull << 23;
    i64 negative = (i64)(whole >> (is_double ? 63 : 31));
    u64 size = whole & (is_double ? ~0ull >> 1 : 0x7FFFFFFF);
    if (size >= infinite) {
        const char *text = size > infinite ? "nan" : negative ? "-inf" : "inf";
        if (json)
            *out++ = '"';
        out = put(out, text, text[0] == '-' ? 4 : 3);
        if (json)
            *out++ = '"';
        return out;
    }
    if (negative)
        *out++ = '-';
    i64 exponent = 0;
    u64 number = size ? shortest(size, bits, is_double ? -1074 : -149, powers, &exponent) : 0;
    while (number && number % 10 == 0) {
        number /= 10;
        exponent++;
    }
    i64 digits = count_digits(number), point = digits + exponent;  /* the number is 0.ddd * 10**point */
    if (!number)
        point = 1;
    if (point > -4 && point <= 0) {
        *out++ = '0';
        *out++ = decimal;
        for (; point < 0; point++)
            *out++ = '0';
        return put_digits(out, number, digits);
    }
    if (point > 0 && point <= 16 && point >= digits) {
        out = put_digits(out, number, digits);
        for (; digits < point; digits++)
            *out++ = '0';
        *out++ = decimal;
        *out++ = '0';
        return out;
    }
    char *first = out;
    i64 before = point > 0 && point <= 16 ? point : 1;
    put_digits(out + 1, number, digits);
    for (i64 i = 0; i < before; i++)
        first[i] = first[i + 1];
    first[before] = decimal;
    out = first + digits + (digits > before);
    if (point > 0 && point <= 16)
        return out;
    *out++ = 'e';
    i64 power = point - 1;
    *out++ = power < 0 ? '-' : '+';
    power = power < 0 ? -power : power;
    return put_digits(out, (u64)power, power >= 100 ? 3 : 2);
}

/* Copies a line without its last bytes, and moves to the line after it; eight bytes at a time where the text has them. */
static char *put_line(char *out, part *own)
{
    const char *at = own->values;
    for (; own->end - at >= 8; at += 8, out += 8) {
        u64 eight, zero_at_newline;
        __builtin_memcpy(&eight, at, 8);
        __builtin_memcpy(out, &eight, 8);
        zero_at_newline = eight ^ 0x0A0A0A0A0A0A0A0Aull;
        u64 newlines = (zero_at_newline - 0x0101010101010101ull) & ~zero_at_newline & 0x8080808080808080ull;
        if (newlines) {
            i64 size = __builtin_ctzll(newlines) / 8;
            own->values = at + size + 1;
            return out + size - own->cut;
        }
    }
    while (*at != '\n')
        *out++ = *at++;
    own->values = at + 1;
    return out - own->cut;
}

/* Writes rows of parts, each row with a tail, and returns the end.

   The caller provides 26 bytes for each number, and 8 bytes after the result, which are written.  The values of lines are moved. */
char *write_rows(i64 rows, part *parts, i64 count, const char *tail, i64 tail_size, const power_of_ten *powers, char decimal,
                 i64 json, char *out)
{
    for (i64 row = 0; row < rows; row++) {
        for (i64 i = 0; i < count; i++) {
            part *own = parts + i;
            out = put(out, own->lead, own->lead_size);
            if (own->kind == LINE)
                out = put_line(out, own);
            else if (own->kind == TEXT)
                out = put(out, (const char *)own->values + own->starts[row], own->ends[row] - own->starts[row]);
            else if (own->kind == INTEGER)
                out = put_integer(out, ((const i64 *)own->values)[row]);
            else
                out = put_number(out, own, row, powers, decimal, json);
        }
        out = put(out, tail, tail_size);
    }
    return out;
}

/* ---- Reading numbers ---- */

/* Returns the double nearest to number * 10**exponent. */
static double nearest(u64 number, i64 exponent, const power_of_ten *powers)
{
    static const double EXACT[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!number)
        return 0;
    if (number <= 1ull << 53 && exponent >= -22 && exponent <= 22)
        return exponent < 0 ? (double)number / EXACT[-exponent] : (double)number * EXACT[exponent];
    if (exponent < FIRST_POWER || exponent > 308)
        return exponent < 0 ? 0 : double_of(0x7FFull << 52);
    power_of_ten power = powers[exponent - FIRST_POWER];
    if (exponent < -27 || exponent > 55)  /* the proof of the algorithm needs powers that are rounded down there */
        power.high -= power.low-- == 0;
    i64 zeros = __builtin_clzll(number);
    number <<= zeros;
    u128 product = (u128)number * power.high;
    if (((u64)(product >> 64) & 0x1FF) == 0x1FF)
        product += (u128)number * power.low >> 64;
    u64 high = (u64)(product >> 64), low = (u64)product;
    i64 carry = (i64)(high >> 63);
    u64 mantissa = high >> (carry + 9);
    i64 biased = ((217706 * exponent) >> 16) + 63 + carry - zeros + 1023;
    if (biased <= 0) {
        if (biased <= -63)
            return 0;
        mantissa >>= 1 - biased;
        return double_of((mantissa + (mantissa & 1)) >> 1);
    }
    if (low <= 1 && exponent >= -4 && exponent <= 23 && (mantissa & 3) == 1 && mantissa << (carry + 9) == high)
        mantissa &= ~1ull;  /* halfway between two doubles: to the even one */
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa >>= 1;
        biased++;
    }
    return biased >= 2047 ? double_of(0x7FFull << 52) : double_of((mantissa & ~(1ull << 52)) | (u64)biased << 52);
}

/* Reads a decimal number that fills the text, and returns whether it could; the digits after the 19th may prevent it.  A number of JSON has no plus sign, no leading zeros,
   and digits on both sides of its point. */
static i64 read_number(const char *text, const char *end, const power_of_ten *powers, char decimal, i64 json, double *result)
{
    i64 negative = text < end && *text == '-';
    text += negative || (text < end && *text == '+' && !json);
    const char *first = text;
    u64 number = 0;
    while (text < end && is_digit(*text))
        number = 10 * number + (u64)(*text++ - '0');
    i64 digits = text - first, exponent = 0;
    if (json && (!digits || (digits > 1 && *first == '0')))
        return 0;
    i64 whole = 1;
    if (text < end && *text == decimal) {
        const char *point = ++text;
        while (text < end && is_digit(*text))
            number = 10 * number + (u64)(*text++ - '0');
        exponent = point - text;
        digits -= exponent;
        whole = 0;
        if (json && !exponent)
            return 0;
    }
    if (!digits)
        return 0;
    const char *after = text;
    if (text < end && (*text | 32) == 'e') {
        whole = 0;
        text++;
        i64 below = text < end && *text == '-';
        text += below || (text < end && *text == '+');
        const char *start = text;
        i64 power = 0;
        while (text < end && is_digit(*text))
            power = power < 100000 ? 10 * power + (*text++ - '0') : (text++, power);
        if (text == start)
            return 0;
        exponent += below ? -power : power;
    }
    if (text != end)
        return 0;
    if (digits > 19) {  /* keep 19 significant digits: the others decide only between two neighbors */
        i64 used = 0, dropped = 0;
        number = 0;
        for (const char *place = first; place < after; place++) {
            if (*place == decimal)
                continue;
            if (used == 19) {
                dropped++;
                continue;
            }
            number = 10 * number + (u64)(*place - '0');
            used += number > 0;
        }
        exponent += dropped;
        if (dropped && nearest(number, exponent, powers) != nearest(number + 1, exponent, powers))
            return 0;
    }
    double size = nearest(number, exponent, powers);
    *result = negative && !(json && whole && !number) ? -size : size;  /* -0 is an integer of JSON */
    return 1;
}

/* Adds a cell to the list, and returns whether there was room. */
static i64 left_to_caller(cell_list *list, i64 row, i64 number, i64 start, i64 size)
{
    if (list->count == list->most)
        return 0;
    list->cells[list->count++] = (cell){row, number, start, size};
    return 1;
}

/* Reads a word that stands for false or true, 0 or 1, and returns whether the text is one. */
static i64 read_truth(const char *text, i64 size, i64 json, double *result)
{
    static const char WORDS[][6] = {"false", "true", "False", "True", "FALSE", "TRUE"};
    for (i64 i = 0; i < (json ? 2 : 6); i++) {
        i64 same = 0;
        while (same < size && same < 5 && text[same] == WORDS[i][same])
            same++;
        if (same == size && WORDS[i][size] == 0) {
            *result = (double)(i % 2);
            return 1;
        }
    }
    return 0;
}

/* Reads a number or a truth, or leaves the cell to the caller; returns whether that was possible. */
static i64 read_cell(const char *text, const char *start, const char *stop, i64 row, i64 number, const power_of_ten *powers,
                     char decimal, i64 json, double *result, cell_list *list)
{
    const char *first = start, *last = stop;
    while (first < last && (*first == ' ' || *first == '\t'))
        first++;
    while (first < last && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    return read_number(first, last, powers, decimal, json, result) || read_truth(first, last - first, json, result)
           || left_to_caller(list, row, number, start - text, stop - start);
}

/* Reads rows of cells between delimiters, each of which ends with a newline.

   numbers[i] are the numbers of the column i, or null; starts[i] and ends[i] receive the places of the cells of the column i, or
   are null.  Returns the number of rows; IRREGULAR if a line is not a row, if a quote is inside a cell or doubled in a cell whose place
   is wanted, or if the list is full. */
i64 read_cells(const char *text, i64 size, char delimiter, char decimal, i64 columns, double *const *numbers, i32 *const *starts,
               i32 *const *ends, cell_list *list, const power_of_ten *powers)
{
    const char *at = text, *end = text + size;
    i64 row = 0;
    for (; at < end; row++) {
        for (i64 column = 0; column < columns; column++) {
            const char *start = at, *stop;
            i64 doubled = 0;
            char expected = column == columns - 1 ? '\n' : delimiter;
            if (*at == '"') {
                start++;
                for (;; doubled = 1) {
                    for (at++; *at != '"'; at++)
                        if (*at == '\n')
                            return IRREGULAR;
                    if (*++at != '"')
                        break;
                }
                stop = at - 1;
            } else {
                while (*at != delimiter && *at != '\n') {
                    if (*at == '"')
                        return IRREGULAR;
                    at++;
                }
                stop = at;
            }
            if (*at++ != expected || (columns == 1 && start == at - 1))
                return IRREGULAR;
            if (starts[column]) {
                if (doubled)
                    return IRREGULAR;
                starts[column][row] = (i32)(start - text);
                ends[column][row] = (i32)(stop - text);
            }
            if (numbers[column]
                && !read_cell(text, start, stop, row, column, powers, decimal, 0, numbers[column] + row, list))
                return IRREGULAR;
        }
    }
    return row;
}

/* ---- Reading objects ---- */

typedef struct { const char *text; i64 size; } name;

/* A member of each object, or a member of an object inside it: the names on the path to it. */
typedef struct { const name *path; i64 depth; } member;

static const char *skip_spaces(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* Returns the end of a string that begins with a quote, or null if it is not valid. */
static const char *skip_string(const char *at, i64 *escapes)
{
    for (at++; *at != '"'; at++) {
        if ((byte)*at < ' ')
            return 0;
        if (*at != '\\')
            continue;
        *escapes = 1;
        at++;
        if (*at == 'u') {
            for (i64 i = 0; i < 4; i++) {
                at++;
                if (!is_digit(*at) && ((*at | 32) < 'a' || (*at | 32) > 'f'))
                    return 0;
            }
        } else if (*at != '"' && *at != '\\' && *at != '/' && *at != 'b' && *at != 'f' && *at != 'n' && *at != 'r' && *at != 't')
            return 0;
    }
    return at + 1;
}

static const char *skip_digits(const char *at)
{
    if (!is_digit(*at))
        return 0;
    while (is_digit(*at))
        at++;
    return at;
}

/* Returns the end of a number, true, false or null; null if it is none of them, or a number that is too long for Python. */
static const char *skip_literal(const char *at)
{
    static const name WORDS[] = {{"true", 4}, {"false", 5}, {"null", 4}};
    for (i64 i = 0; i < 3; i++) {
        i64 size = 0;
        while (size < WORDS[i].size && at[size] == WORDS[i].text[size])
            size++;
        if (size == WORDS[i].size)
            return at + size;
    }
    const char *start = at;
    at += *at == '-';
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (at && *at == '.')
        at = skip_digits(at + 1);
    if (at && (*at | 32) == 'e') {
        at++;
        at = skip_digits(at + (*at == '-' || *at == '+'));
    }
    return at && at - start > LONGEST ? 0 : at;
}

/* Returns the members of a set whose path has a name at a depth. */
static u64 with_name(const member *members, u64 set, i64 depth, const char *text, i64 size)
{
    u64 result = 0;
    for (; set; set &= set - 1) {
        i64 i = __builtin_ctzll(set);
        const name *own = members[i].path + depth;
        i64 same = 0;
        while (members[i].depth > depth && own->size == size && same < size && own->text[same] == text[same])
            same++;
        result |= (u64)(same == size) << i;
    }
    return result;
}

/* Reads rows of JSON objects, each of which is a line without spaces around it.

   members has at most 64 members; those from `count - refused` on make a row irregular.  numbers[i] are the numbers of the member i, or
   null; starts[i] and ends[i] receive the places of the text inside its quotes, or are null.  Returns the number of rows; IRREGULAR if a line is not valid JSON, has an escape or a member twice where that
   matters, or is nested deeply, or if the list is full. */
i64 read_objects(const char *text, i64 size, const member *members, i64 count, i64 refused, double *const *numbers,
                 i32 *const *starts, i32 *const *ends, cell_list *list, const power_of_ten *powers)
{
    const char *at = text, *end = text + size;
    const u64 all = count ? ~0ull >> (64 - count) : 0, wanted = refused ? all >> refused : all;
    i64 row = 0;
    for (; at < end; row++) {
        u64 reached[DEEPEST + 1], seen[DEEPEST + 1] = {0}, value = all;  /* members whose path leads to the open objects; to the value */
        char open[DEEPEST + 1];
        i64 depth = 0;
        u64 done = 0;
        if (*at != '{')
            return IRREGULAR;
        for (;;) {
            const char *start = at;
            i64 escapes = 0;
            u64 here = 0;  /* members that are the value */
            for (u64 set = value; set; set &= set - 1)
                here |= (u64)(members[__builtin_ctzll(set)].depth == depth) << __builtin_ctzll(set);
            if (here & ~wanted)
                return IRREGULAR;
            if (*at == '{' || *at == '[') {
                if (here || depth == DEEPEST)
                    return IRREGULAR;
                open[depth] = *at;
                reached[depth] = *at == '{' ? value : 0;
                seen[depth++] = 0;
                at = skip_spaces(at + 1);
                if (*at == (open[depth - 1] == '{' ? '}' : ']'))
                    goto close;
                goto next;
            }
            at = *at == '"' ? skip_string(at, &escapes) : skip_literal(at);
            if (!at)
                return IRREGULAR;
            for (; here; here &= here - 1) {
                i64 i = __builtin_ctzll(here), quoted = *start == '"';
                done |= 1ull << i;
                if (starts[i]) {
                    if (!quoted || escapes)
                        return IRREGULAR;
                    starts[i][row] = (i32)(start + 1 - text);
                    ends[i][row] = (i32)(at - 1 - text);
                }
                if (numbers[i] && !read_cell(text, start, at, row, i, powers, '.', 1, numbers[i] + row, list))
                    return IRREGULAR;
            }
        after:
            at = skip_spaces(at);
            if (*at == ',' && depth) {
                at = skip_spaces(at + 1);
                goto next;
            }
            if (*at != (open[depth - 1] == '{' ? '}' : ']'))
                return IRREGULAR;
        close:
            at++;
            if (--depth)
                goto after;
            break;
        next:
            value = 0;
            if (open[depth - 1] == '{') {
                const char *key = at + 1;
                if (*at != '"' || !(at = skip_string(at, &escapes)) || escapes)
                    return IRREGULAR;
                value = with_name(members, reached[depth - 1], depth - 1, key, at - 1 - key);
                if (value & seen[depth - 1])
                    return IRREGULAR;
                seen[depth - 1] |= value;
                at = skip_spaces(at);
                if (*at++ != ':')
                    return IRREGULAR;
                at = skip_spaces(at);
            }
        }
        if (*at != '\n' || at[-2] == '{' || at[-2] == ' ' || at[-2] == '\t')
            return IRREGULAR;
        for (u64 missing = wanted & ~done; missing; missing &= missing - 1) {
            i64 i = __builtin_ctzll(missing);
            if (starts[i] || !left_to_caller(list, row, i, 0, -1))
                return IRREGULAR;
        }
        at++;
    }
    return row;
}
