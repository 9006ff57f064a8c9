; Made from native_text.c by python -m tests.native_text --write

%struct.name = type { ptr, i64 }
%struct.part = type { ptr, i64, i64, ptr, ptr, ptr, ptr, i64 }
%struct.power_of_ten = type { i64, i64 }
%struct.cell_list = type { ptr, i64, i64 }
%struct.cell = type { i64, i64, i64, i64 }
%struct.member = type { ptr, i64 }

@PAIRS = internal unnamed_addr constant [201 x i8] c"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899\00", align 16
@.str = private unnamed_addr constant [4 x i8] c"nan\00", align 1
@.str.1 = private unnamed_addr constant [5 x i8] c"-inf\00", align 1
@.str.2 = private unnamed_addr constant [4 x i8] c"inf\00", align 1
@nearest.EXACT = internal unnamed_addr constant [23 x double] [double 1.000000e+00, double 1.000000e+01, double 1.000000e+02, double 1.000000e+03, double 1.000000e+04, double 1.000000e+05, double 1.000000e+06, double 1.000000e+07, double 1.000000e+08, double 1.000000e+09, double 1.000000e+10, double 1.000000e+11, double 1.000000e+12, double 1.000000e+13, double 1.000000e+14, double 1.000000e+15, double 1.000000e+16, double 1.000000e+17, double 1.000000e+18, double 1.000000e+19, double 1.000000e+20, double 1.000000e+21, double 1.000000e+22], align 16
@read_truth.WORDS = internal unnamed_addr constant [6 x [6 x i8]] [[6 x i8] c"false\00", [6 x i8] c"true\00\00", [6 x i8] c"False\00", [6 x i8] c"True\00\00", [6 x i8] c"FALSE\00", [6 x i8] c"TRUE\00\00"], align 16
@skip_literal.WORDS = internal unnamed_addr constant [3 x %struct.name] [%struct.name { ptr @.str.3, i64 4 }, %struct.name { ptr @.str.4, i64 5 }, %struct.name { ptr @.str.5, i64 4 }], align 16
@.str.3 = private unnamed_addr constant [5 x i8] c"true\00", align 1
@.str.4 = private unnamed_addr constant [6 x i8] c"false\00", align 1
@.str.5 = private unnamed_addr constant [5 x i8] c"null\00", align 1

; Function Attrs: nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none)
define ptr @write_rows(i64 noundef %0, ptr nocapture noundef %1, i64 noundef %2, ptr nocapture noundef readonly %3, i64 noundef %4, ptr nocapture noundef readonly %5, i8 noundef signext %6, i64 noundef %7, ptr noundef %8) local_unnamed_addr #0 {
  %10 = icmp sgt i64 %0, 0
  br i1 %10, label %11, label %17

11:                                               ; preds = %9
  %12 = icmp sgt i64 %2, 0
  %13 = icmp eq i64 %7, 0
  br label %14

14:                                               ; preds = %11, %19
  %15 = phi ptr [ %8, %11 ], [ %21, %19 ]
  %16 = phi i64 [ 0, %11 ], [ %22, %19 ]
  br i1 %12, label %24, label %19

17:                                               ; preds = %19, %9
  %18 = phi ptr [ %8, %9 ], [ %21, %19 ]
  ret ptr %18

19:                                               ; preds = %531, %14
  %20 = phi ptr [ %15, %14 ], [ %532, %531 ]
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %20, ptr align 1 %3, i64 %4, i1 false)
  %21 = getelementptr inbounds i8, ptr %20, i64 %4
  %22 = add nuw nsw i64 %16, 1
  %23 = icmp eq i64 %22, %0
  br i1 %23, label %17, label %14, !llvm.loop !5

24:                                               ; preds = %14, %531
  %25 = phi ptr [ %532, %531 ], [ %15, %14 ]
  %26 = phi i64 [ %533, %531 ], [ 0, %14 ]
  %27 = getelementptr inbounds %struct.part, ptr %1, i64 %26
  %28 = load ptr, ptr %27, align 8, !tbaa !8
  %29 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 1
  %30 = load i64, ptr %29, align 8, !tbaa !14
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %25, ptr align 1 %28, i64 %30, i1 false)
  %31 = getelementptr inbounds i8, ptr %25, i64 %30
  %32 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 2
  %33 = load i64, ptr %32, align 8, !tbaa !15
  switch i64 %33, label %157 [
    i64 0, label %34
    i64 1, label %90
    i64 4, label %106
  ]

34:                                               ; preds = %24
  %35 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 3
  %36 = load ptr, ptr %35, align 8, !tbaa !16
  %37 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 6
  %38 = load ptr, ptr %37, align 8, !tbaa !17
  %39 = ptrtoint ptr %38 to i64
  %40 = ptrtoint ptr %36 to i64
  %41 = sub i64 %39, %40
  %42 = icmp sgt i64 %41, 7
  br i1 %42, label %48, label %43

43:                                               ; preds = %64, %34
  %44 = phi ptr [ %36, %34 ], [ %65, %64 ]
  %45 = phi ptr [ %31, %34 ], [ %66, %64 ]
  %46 = load i8, ptr %44, align 1, !tbaa !18
  %47 = icmp eq i8 %46, 10
  br i1 %47, label %80, label %72

48:                                               ; preds = %34, %64
  %49 = phi ptr [ %66, %64 ], [ %31, %34 ]
  %50 = phi ptr [ %65, %64 ], [ %36, %34 ]
  %51 = load i64, ptr %50, align 1
  store i64 %51, ptr %49, align 1
  %52 = xor i64 %51, 723401728380766730
  %53 = add i64 %52, -72340172838076673
  %54 = and i64 %51, -9187201950435737472
  %55 = xor i64 %54, -9187201950435737472
  %56 = and i64 %55, %53
  %57 = icmp eq i64 %56, 0
  br i1 %57, label %64, label %58

58:                                               ; preds = %48
  %59 = tail call i64 @llvm.cttz.i64(i64 %56, i1 true), !range !19
  %60 = lshr i64 %59, 3
  %61 = getelementptr inbounds i8, ptr %50, i64 %60
  %62 = getelementptr inbounds i8, ptr %61, i64 1
  store ptr %62, ptr %35, align 8, !tbaa !16
  %63 = getelementptr inbounds i8, ptr %49, i64 %60
  br label %84

64:                                               ; preds = %48
  %65 = getelementptr inbounds i8, ptr %50, i64 8
  %66 = getelementptr inbounds i8, ptr %49, i64 8
  %67 = load ptr, ptr %37, align 8, !tbaa !17
  %68 = ptrtoint ptr %67 to i64
  %69 = ptrtoint ptr %65 to i64
  %70 = sub i64 %68, %69
  %71 = icmp sgt i64 %70, 7
  br i1 %71, label %48, label %43, !llvm.loop !20

72:                                               ; preds = %43, %72
  %73 = phi i8 [ %78, %72 ], [ %46, %43 ]
  %74 = phi ptr [ %77, %72 ], [ %45, %43 ]
  %75 = phi ptr [ %76, %72 ], [ %44, %43 ]
  %76 = getelementptr inbounds i8, ptr %75, i64 1
  %77 = getelementptr inbounds i8, ptr %74, i64 1
  store i8 %73, ptr %74, align 1, !tbaa !18
  %78 = load i8, ptr %76, align 1, !tbaa !18
  %79 = icmp eq i8 %78, 10
  br i1 %79, label %80, label %72, !llvm.loop !21

80:                                               ; preds = %72, %43
  %81 = phi ptr [ %44, %43 ], [ %76, %72 ]
  %82 = phi ptr [ %45, %43 ], [ %77, %72 ]
  %83 = getelementptr inbounds i8, ptr %81, i64 1
  store ptr %83, ptr %35, align 8, !tbaa !16
  br label %84

84:                                               ; preds = %58, %80
  %85 = phi ptr [ %63, %58 ], [ %82, %80 ]
  %86 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 7
  %87 = load i64, ptr %86, align 8, !tbaa !22
  %88 = sub i64 0, %87
  %89 = getelementptr inbounds i8, ptr %85, i64 %88
  br label %531

90:                                               ; preds = %24
  %91 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 3
  %92 = load ptr, ptr %91, align 8, !tbaa !16
  %93 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 4
  %94 = load ptr, ptr %93, align 8, !tbaa !23
  %95 = getelementptr inbounds i32, ptr %94, i64 %16
  %96 = load i32, ptr %95, align 4, !tbaa !24
  %97 = sext i32 %96 to i64
  %98 = getelementptr inbounds i8, ptr %92, i64 %97
  %99 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 5
  %100 = load ptr, ptr %99, align 8, !tbaa !26
  %101 = getelementptr inbounds i32, ptr %100, i64 %16
  %102 = load i32, ptr %101, align 4, !tbaa !24
  %103 = sub nsw i32 %102, %96
  %104 = sext i32 %103 to i64
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %31, ptr align 1 %98, i64 %104, i1 false)
  %105 = getelementptr inbounds i8, ptr %31, i64 %104
  br label %531

106:                                              ; preds = %24
  %107 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 3
  %108 = load ptr, ptr %107, align 8, !tbaa !16
  %109 = getelementptr inbounds i64, ptr %108, i64 %16
  %110 = load i64, ptr %109, align 8, !tbaa !27
  %111 = icmp slt i64 %110, 0
  br i1 %111, label %112, label %114

112:                                              ; preds = %106
  %113 = getelementptr inbounds i8, ptr %31, i64 1
  store i8 45, ptr %31, align 1, !tbaa !18
  br label %114

114:                                              ; preds = %112, %106
  %115 = phi ptr [ %113, %112 ], [ %31, %106 ]
  %116 = tail call i64 @llvm.abs.i64(i64 %110, i1 false)
  %117 = icmp ugt i64 %116, 9999
  br i1 %117, label %118, label %124

118:                                              ; preds = %114, %118
  %119 = phi i64 [ %121, %118 ], [ 1, %114 ]
  %120 = phi i64 [ %122, %118 ], [ %116, %114 ]
  %121 = add nuw nsw i64 %119, 4
  %122 = udiv i64 %120, 10000
  %123 = icmp ugt i64 %120, 99999999
  br i1 %123, label %118, label %124, !llvm.loop !28

124:                                              ; preds = %118, %114
  %125 = phi i64 [ %116, %114 ], [ %122, %118 ]
  %126 = phi i64 [ 1, %114 ], [ %121, %118 ]
  %127 = icmp ugt i64 %125, 9
  %128 = zext i1 %127 to i64
  %129 = add nuw nsw i64 %126, %128
  %130 = icmp ugt i64 %125, 99
  %131 = zext i1 %130 to i64
  %132 = add nuw nsw i64 %129, %131
  %133 = icmp ugt i64 %125, 999
  %134 = zext i1 %133 to i64
  %135 = add nuw nsw i64 %132, %134
  %136 = icmp sgt i64 %135, 1
  br i1 %136, label %137, label %151

137:                                              ; preds = %124, %137
  %138 = phi i64 [ %140, %137 ], [ %116, %124 ]
  %139 = phi i64 [ %141, %137 ], [ %135, %124 ]
  %140 = udiv i64 %138, 100
  %141 = add nsw i64 %139, -2
  %142 = getelementptr inbounds i8, ptr %115, i64 %141
  %143 = mul i64 %140, 9223372036854775708
  %144 = add i64 %143, %138
  %145 = shl i64 %144, 1
  %146 = getelementptr inbounds i8, ptr @PAIRS, i64 %145
  %147 = load i16, ptr %146, align 2
  store i16 %147, ptr %142, align 1
  %148 = icmp ugt i64 %139, 3
  br i1 %148, label %137, label %149, !llvm.loop !29

149:                                              ; preds = %137
  %150 = icmp eq i64 %141, 0
  br i1 %150, label %155, label %151

151:                                              ; preds = %149, %124
  %152 = phi i64 [ %140, %149 ], [ %116, %124 ]
  %153 = trunc i64 %152 to i8
  %154 = add i8 %153, 48
  store i8 %154, ptr %115, align 1, !tbaa !18
  br label %155

155:                                              ; preds = %149, %151
  %156 = getelementptr inbounds i8, ptr %115, i64 %135
  br label %531

157:                                              ; preds = %24
  %158 = icmp eq i64 %33, 2
  %159 = select i1 %158, i64 -52, i64 -23
  %160 = select i1 %158, i64 52, i64 23
  %161 = getelementptr inbounds %struct.part, ptr %1, i64 %26, i32 3
  %162 = load ptr, ptr %161, align 8, !tbaa !16
  br i1 %158, label %163, label %166

163:                                              ; preds = %157
  %164 = getelementptr inbounds i64, ptr %162, i64 %16
  %165 = load i64, ptr %164, align 8, !tbaa !27
  br label %170

166:                                              ; preds = %157
  %167 = getelementptr inbounds i32, ptr %162, i64 %16
  %168 = load i32, ptr %167, align 4, !tbaa !24
  %169 = zext i32 %168 to i64
  br label %170

170:                                              ; preds = %166, %163
  %171 = phi i64 [ 9223372036854775807, %163 ], [ 2147483647, %166 ]
  %172 = phi i64 [ 63, %163 ], [ 31, %166 ]
  %173 = phi i64 [ 9218868437227405312, %163 ], [ 2139095040, %166 ]
  %174 = phi i64 [ %165, %163 ], [ %169, %166 ]
  %175 = lshr i64 %174, %172
  %176 = and i64 %174, %171
  %177 = icmp ult i64 %176, %173
  br i1 %177, label %195, label %178

178:                                              ; preds = %170
  %179 = icmp ugt i64 %176, %173
  %180 = icmp eq i64 %175, 0
  %181 = select i1 %180, ptr @.str.2, ptr @.str.1
  %182 = select i1 %179, ptr @.str, ptr %181
  br i1 %13, label %183, label %188

183:                                              ; preds = %178
  %184 = load i8, ptr %182, align 1, !tbaa !18
  %185 = icmp eq i8 %184, 45
  %186 = select i1 %185, i64 4, i64 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(3) %31, ptr noundef nonnull align 1 dereferenceable(3) %182, i64 %186, i1 false)
  %187 = getelementptr inbounds i8, ptr %31, i64 %186
  br label %531

188:                                              ; preds = %178
  %189 = getelementptr inbounds i8, ptr %31, i64 1
  store i8 34, ptr %31, align 1, !tbaa !18
  %190 = load i8, ptr %182, align 1, !tbaa !18
  %191 = icmp eq i8 %190, 45
  %192 = select i1 %191, i64 4, i64 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(3) %189, ptr noundef nonnull align 1 dereferenceable(3) %182, i64 %192, i1 false)
  %193 = getelementptr inbounds i8, ptr %189, i64 %192
  %194 = getelementptr inbounds i8, ptr %193, i64 1
  store i8 34, ptr %193, align 1, !tbaa !18
  br label %531

195:                                              ; preds = %170
  %196 = icmp eq i64 %175, 0
  br i1 %196, label %199, label %197

197:                                              ; preds = %195
  %198 = getelementptr inbounds i8, ptr %31, i64 1
  store i8 45, ptr %31, align 1, !tbaa !18
  br label %199

199:                                              ; preds = %197, %195
  %200 = phi ptr [ %198, %197 ], [ %31, %195 ]
  %201 = icmp eq i64 %176, 0
  br i1 %201, label %363, label %202

202:                                              ; preds = %199
  %203 = select i1 %158, i64 -1074, i64 -149
  %204 = shl nuw nsw i64 1, %160
  %205 = add nuw i64 %204, 9223372036854775807
  %206 = and i64 %176, %205
  %207 = lshr i64 %176, %160
  %208 = icmp eq i64 %207, 0
  %209 = or i64 %206, %204
  %210 = select i1 %208, i64 %206, i64 %209
  %211 = add nsw i64 %203, -1
  %212 = add nsw i64 %211, %207
  %213 = select i1 %208, i64 %203, i64 %212
  %214 = icmp sgt i64 %213, 0
  %215 = select i1 %208, i1 true, i1 %214
  %216 = icmp slt i64 %213, %159
  %217 = select i1 %215, i1 true, i1 %216
  br i1 %217, label %226, label %218

218:                                              ; preds = %202
  %219 = sub nsw i64 0, %212
  %220 = shl nsw i64 -1, %219
  %221 = xor i64 %220, -1
  %222 = and i64 %209, %221
  %223 = icmp eq i64 %222, 0
  br i1 %223, label %224, label %226

224:                                              ; preds = %218
  %225 = lshr i64 %209, %219
  br label %336

226:                                              ; preds = %218, %202
  %227 = and i64 %210, 1
  %228 = icmp eq i64 %206, 0
  %229 = icmp ugt i64 %207, 1
  %230 = and i1 %229, %228
  %231 = zext i1 %230 to i64
  br i1 %230, label %232, label %235

232:                                              ; preds = %226
  %233 = mul nsw i64 %212, 1262611
  %234 = add nsw i64 %233, -524031
  br label %237

235:                                              ; preds = %226
  %236 = mul nsw i64 %213, 1262611
  br label %237

237:                                              ; preds = %235, %232
  %238 = phi i64 [ %234, %232 ], [ %236, %235 ]
  %239 = ashr i64 %238, 22
  %240 = mul nsw i64 %239, -1741647
  %241 = ashr i64 %240, 19
  %242 = add nsw i64 %213, 1
  %243 = add nsw i64 %242, %241
  %244 = sub nsw i64 342, %239
  %245 = getelementptr inbounds %struct.power_of_ten, ptr %5, i64 %244
  %246 = shl nuw nsw i64 %210, 2
  %247 = add nsw i64 %246, -2
  %248 = or disjoint i64 %247, %231
  %249 = shl i64 %248, %243
  %250 = load i64, ptr %245, align 8, !tbaa !30
  %251 = zext i64 %250 to i128
  %252 = zext i64 %249 to i128
  %253 = mul nuw i128 %252, %251
  %254 = getelementptr inbounds %struct.power_of_ten, ptr %5, i64 %244, i32 1
  %255 = load i64, ptr %254, align 8, !tbaa !32
  %256 = zext i64 %255 to i128
  %257 = mul nuw i128 %252, %256
  %258 = and i128 %253, 18446744073709551615
  %259 = lshr i128 %257, 64
  %260 = add nuw nsw i128 %259, %258
  %261 = lshr i128 %253, 64
  %262 = trunc i128 %261 to i64
  %263 = lshr i128 %260, 64
  %264 = trunc i128 %263 to i64
  %265 = add nuw i64 %264, %262
  %266 = and i128 %260, 18446744073709551614
  %267 = icmp ne i128 %266, 0
  %268 = zext i1 %267 to i64
  %269 = or i64 %265, %268
  %270 = add i64 %269, %227
  %271 = shl i64 %246, %243
  %272 = zext i64 %271 to i128
  %273 = mul nuw i128 %272, %251
  %274 = mul nuw i128 %272, %256
  %275 = and i128 %273, 18446744073709551612
  %276 = lshr i128 %274, 64
  %277 = add nuw nsw i128 %276, %275
  %278 = lshr i128 %273, 64
  %279 = trunc i128 %278 to i64
  %280 = lshr i128 %277, 64
  %281 = trunc i128 %280 to i64
  %282 = add nuw i64 %281, %279
  %283 = and i128 %277, 18446744073709551614
  %284 = icmp ne i128 %283, 0
  %285 = zext i1 %284 to i64
  %286 = or i64 %282, %285
  %287 = or disjoint i64 %246, 2
  %288 = shl i64 %287, %243
  %289 = zext i64 %288 to i128
  %290 = mul nuw i128 %289, %251
  %291 = mul nuw i128 %289, %256
  %292 = and i128 %290, 18446744073709551614
  %293 = lshr i128 %291, 64
  %294 = add nuw nsw i128 %293, %292
  %295 = lshr i128 %290, 64
  %296 = trunc i128 %295 to i64
  %297 = lshr i128 %294, 64
  %298 = trunc i128 %297 to i64
  %299 = add nuw i64 %298, %296
  %300 = and i128 %294, 18446744073709551614
  %301 = icmp ne i128 %300, 0
  %302 = zext i1 %301 to i64
  %303 = or i64 %299, %302
  %304 = sub i64 %303, %227
  %305 = lshr i64 %282, 2
  %306 = icmp ugt i64 %286, 39
  br i1 %306, label %307, label %318

307:                                              ; preds = %237
  %308 = udiv i64 %282, 40
  %309 = mul nuw i64 %308, 40
  %310 = add i64 %309, 40
  %311 = icmp ule i64 %310, %304
  %312 = icmp ugt i64 %270, %309
  %313 = xor i1 %312, %311
  br i1 %313, label %318, label %314

314:                                              ; preds = %307
  %315 = zext i1 %311 to i64
  %316 = add nsw i64 %239, 1
  %317 = add nuw nsw i64 %308, %315
  br label %336

318:                                              ; preds = %307, %237
  %319 = and i64 %282, -4
  %320 = add i64 %319, 4
  %321 = icmp ule i64 %320, %304
  %322 = icmp ugt i64 %270, %319
  %323 = xor i1 %322, %321
  br i1 %323, label %324, label %332

324:                                              ; preds = %318
  %325 = or disjoint i64 %319, 2
  %326 = icmp ugt i64 %286, %325
  br i1 %326, label %332, label %327

327:                                              ; preds = %324
  %328 = icmp eq i64 %286, %325
  %329 = and i64 %282, 4
  %330 = icmp ne i64 %329, 0
  %331 = and i1 %330, %328
  br label %332

332:                                              ; preds = %327, %324, %318
  %333 = phi i1 [ true, %324 ], [ %331, %327 ], [ %321, %318 ]
  %334 = zext i1 %333 to i64
  %335 = add nuw nsw i64 %305, %334
  br label %336

336:                                              ; preds = %332, %314, %224
  %337 = phi i64 [ %239, %332 ], [ %316, %314 ], [ 0, %224 ]
  %338 = phi i64 [ %335, %332 ], [ %317, %314 ], [ %225, %224 ]
  %339 = icmp ne i64 %338, 0
  %340 = urem i64 %338, 10
  %341 = icmp eq i64 %340, 0
  %342 = and i1 %339, %341
  br i1 %342, label %343, label %352

343:                                              ; preds = %336, %343
  %344 = phi i64 [ %346, %343 ], [ %338, %336 ]
  %345 = phi i64 [ %347, %343 ], [ %337, %336 ]
  %346 = udiv i64 %344, 10
  %347 = add nsw i64 %345, 1
  %348 = icmp ugt i64 %344, 9
  %349 = urem i64 %346, 10
  %350 = icmp eq i64 %349, 0
  %351 = and i1 %348, %350
  br i1 %351, label %343, label %352, !llvm.loop !33

352:                                              ; preds = %343, %336
  %353 = phi i64 [ %337, %336 ], [ %347, %343 ]
  %354 = phi i64 [ %338, %336 ], [ %346, %343 ]
  %355 = phi i1 [ %339, %336 ], [ %348, %343 ]
  %356 = icmp ugt i64 %354, 9999
  br i1 %356, label %357, label %363

357:                                              ; preds = %352, %357
  %358 = phi i64 [ %360, %357 ], [ 1, %352 ]
  %359 = phi i64 [ %361, %357 ], [ %354, %352 ]
  %360 = add nuw nsw i64 %358, 4
  %361 = udiv i64 %359, 10000
  %362 = icmp ugt i64 %359, 99999999
  br i1 %362, label %357, label %363, !llvm.loop !28

363:                                              ; preds = %357, %352, %199
  %364 = phi i1 [ %355, %352 ], [ false, %199 ], [ %355, %357 ]
  %365 = phi i64 [ %354, %352 ], [ 0, %199 ], [ %354, %357 ]
  %366 = phi i64 [ %353, %352 ], [ 0, %199 ], [ %353, %357 ]
  %367 = phi i64 [ %354, %352 ], [ 0, %199 ], [ %361, %357 ]
  %368 = phi i64 [ 1, %352 ], [ 1, %199 ], [ %360, %357 ]
  %369 = icmp ugt i64 %367, 9
  %370 = zext i1 %369 to i64
  %371 = add nuw nsw i64 %368, %370
  %372 = icmp ugt i64 %367, 99
  %373 = zext i1 %372 to i64
  %374 = add nuw nsw i64 %371, %373
  %375 = icmp ugt i64 %367, 999
  %376 = zext i1 %375 to i64
  %377 = add nuw nsw i64 %374, %376
  %378 = add nsw i64 %377, %366
  %379 = freeze i1 %364
  br i1 %379, label %380, label %419

380:                                              ; preds = %363
  %381 = add i64 %378, 3
  %382 = icmp ult i64 %381, 4
  br i1 %382, label %383, label %416

383:                                              ; preds = %380
  %384 = getelementptr inbounds i8, ptr %200, i64 1
  store i8 48, ptr %200, align 1, !tbaa !18
  %385 = getelementptr inbounds i8, ptr %200, i64 2
  store i8 %6, ptr %384, align 1, !tbaa !18
  %386 = icmp slt i64 %378, 0
  br i1 %386, label %387, label %393

387:                                              ; preds = %383, %387
  %388 = phi ptr [ %390, %387 ], [ %385, %383 ]
  %389 = phi i64 [ %391, %387 ], [ %378, %383 ]
  %390 = getelementptr inbounds i8, ptr %388, i64 1
  store i8 48, ptr %388, align 1, !tbaa !18
  %391 = add i64 %389, 1
  %392 = icmp eq i64 %391, 0
  br i1 %392, label %393, label %387, !llvm.loop !34

393:                                              ; preds = %387, %383
  %394 = phi ptr [ %385, %383 ], [ %390, %387 ]
  %395 = icmp sgt i64 %377, 1
  br i1 %395, label %396, label %410

396:                                              ; preds = %393, %396
  %397 = phi i64 [ %399, %396 ], [ %365, %393 ]
  %398 = phi i64 [ %400, %396 ], [ %377, %393 ]
  %399 = udiv i64 %397, 100
  %400 = add nsw i64 %398, -2
  %401 = getelementptr inbounds i8, ptr %394, i64 %400
  %402 = mul i64 %399, 9223372036854775708
  %403 = add i64 %402, %397
  %404 = shl i64 %403, 1
  %405 = getelementptr inbounds i8, ptr @PAIRS, i64 %404
  %406 = load i16, ptr %405, align 2
  store i16 %406, ptr %401, align 1
  %407 = icmp ugt i64 %398, 3
  br i1 %407, label %396, label %408, !llvm.loop !29

408:                                              ; preds = %396
  %409 = icmp eq i64 %400, 0
  br i1 %409, label %414, label %410

410:                                              ; preds = %408, %393
  %411 = phi i64 [ %399, %408 ], [ %365, %393 ]
  %412 = trunc i64 %411 to i8
  %413 = add i8 %412, 48
  store i8 %413, ptr %394, align 1, !tbaa !18
  br label %414

414:                                              ; preds = %410, %408
  %415 = getelementptr inbounds i8, ptr %394, i64 %377
  br label %531

416:                                              ; preds = %380
  %417 = add i64 %378, -1
  %418 = icmp ult i64 %417, 16
  br i1 %418, label %419, label %458

419:                                              ; preds = %416, %363
  %420 = phi i64 [ %417, %416 ], [ 0, %363 ]
  %421 = phi i64 [ %378, %416 ], [ 1, %363 ]
  %422 = icmp slt i64 %421, %377
  br i1 %422, label %423, label %425

423:                                              ; preds = %419
  %424 = getelementptr inbounds i8, ptr %200, i64 1
  br label %461

425:                                              ; preds = %419
  %426 = icmp sgt i64 %377, 1
  br i1 %426, label %427, label %441

427:                                              ; preds = %425, %427
  %428 = phi i64 [ %430, %427 ], [ %365, %425 ]
  %429 = phi i64 [ %431, %427 ], [ %377, %425 ]
  %430 = udiv i64 %428, 100
  %431 = add nsw i64 %429, -2
  %432 = getelementptr inbounds i8, ptr %200, i64 %431
  %433 = mul i64 %430, 9223372036854775708
  %434 = add i64 %433, %428
  %435 = shl i64 %434, 1
  %436 = getelementptr inbounds i8, ptr @PAIRS, i64 %435
  %437 = load i16, ptr %436, align 2
  store i16 %437, ptr %432, align 1
  %438 = icmp ugt i64 %429, 3
  br i1 %438, label %427, label %439, !llvm.loop !29

439:                                              ; preds = %427
  %440 = icmp eq i64 %431, 0
  br i1 %440, label %445, label %441

441:                                              ; preds = %439, %425
  %442 = phi i64 [ %430, %439 ], [ %365, %425 ]
  %443 = trunc i64 %442 to i8
  %444 = add i8 %443, 48
  store i8 %444, ptr %200, align 1, !tbaa !18
  br label %445

445:                                              ; preds = %441, %439
  %446 = getelementptr inbounds i8, ptr %200, i64 %377
  %447 = icmp slt i64 %377, %421
  br i1 %447, label %448, label %454

448:                                              ; preds = %445, %448
  %449 = phi ptr [ %451, %448 ], [ %446, %445 ]
  %450 = phi i64 [ %452, %448 ], [ %377, %445 ]
  %451 = getelementptr inbounds i8, ptr %449, i64 1
  store i8 48, ptr %449, align 1, !tbaa !18
  %452 = add nsw i64 %450, 1
  %453 = icmp slt i64 %452, %421
  br i1 %453, label %448, label %454, !llvm.loop !35

454:                                              ; preds = %448, %445
  %455 = phi ptr [ %446, %445 ], [ %451, %448 ]
  %456 = getelementptr inbounds i8, ptr %455, i64 1
  store i8 %6, ptr %455, align 1, !tbaa !18
  %457 = getelementptr inbounds i8, ptr %455, i64 2
  store i8 48, ptr %456, align 1, !tbaa !18
  br label %531

458:                                              ; preds = %416
  %459 = getelementptr inbounds i8, ptr %200, i64 1
  %460 = icmp sgt i64 %377, 1
  br i1 %460, label %461, label %482

461:                                              ; preds = %458, %423
  %462 = phi ptr [ %424, %423 ], [ %459, %458 ]
  %463 = phi i64 [ %421, %423 ], [ 1, %458 ]
  %464 = phi i64 [ %421, %423 ], [ %378, %458 ]
  %465 = phi i64 [ %420, %423 ], [ %417, %458 ]
  %466 = phi i1 [ true, %423 ], [ false, %458 ]
  %467 = getelementptr inbounds i8, ptr %200, i64 1
  br label %468

468:                                              ; preds = %468, %461
  %469 = phi i64 [ %471, %468 ], [ %365, %461 ]
  %470 = phi i64 [ %472, %468 ], [ %377, %461 ]
  %471 = udiv i64 %469, 100
  %472 = add nsw i64 %470, -2
  %473 = getelementptr inbounds i8, ptr %467, i64 %472
  %474 = mul i64 %471, 9223372036854775708
  %475 = add i64 %474, %469
  %476 = shl i64 %475, 1
  %477 = getelementptr inbounds i8, ptr @PAIRS, i64 %476
  %478 = load i16, ptr %477, align 2
  store i16 %478, ptr %473, align 1
  %479 = icmp ugt i64 %470, 3
  br i1 %479, label %468, label %480, !llvm.loop !29

480:                                              ; preds = %468
  %481 = icmp eq i64 %472, 0
  br i1 %481, label %491, label %482

482:                                              ; preds = %480, %458
  %483 = phi ptr [ %462, %480 ], [ %459, %458 ]
  %484 = phi i64 [ %463, %480 ], [ 1, %458 ]
  %485 = phi i64 [ %464, %480 ], [ %378, %458 ]
  %486 = phi i64 [ %465, %480 ], [ %417, %458 ]
  %487 = phi i1 [ %466, %480 ], [ false, %458 ]
  %488 = phi i64 [ %471, %480 ], [ %365, %458 ]
  %489 = trunc i64 %488 to i8
  %490 = add i8 %489, 48
  store i8 %490, ptr %483, align 1, !tbaa !18
  br label %491

491:                                              ; preds = %482, %480
  %492 = phi i64 [ %463, %480 ], [ %484, %482 ]
  %493 = phi i64 [ %464, %480 ], [ %485, %482 ]
  %494 = phi i64 [ %465, %480 ], [ %486, %482 ]
  %495 = phi i1 [ %466, %480 ], [ %487, %482 ]
  %496 = icmp sgt i64 %492, 0
  br i1 %496, label %503, label %497

497:                                              ; preds = %503, %491
  %498 = getelementptr inbounds i8, ptr %200, i64 %492
  store i8 %6, ptr %498, align 1, !tbaa !18
  %499 = getelementptr inbounds i8, ptr %200, i64 %377
  %500 = icmp sgt i64 %377, %492
  %501 = zext i1 %500 to i64
  %502 = getelementptr inbounds i8, ptr %499, i64 %501
  br i1 %495, label %531, label %510

503:                                              ; preds = %491, %503
  %504 = phi i64 [ %505, %503 ], [ 0, %491 ]
  %505 = add nuw nsw i64 %504, 1
  %506 = getelementptr inbounds i8, ptr %200, i64 %505
  %507 = load i8, ptr %506, align 1, !tbaa !18
  %508 = getelementptr inbounds i8, ptr %200, i64 %504
  store i8 %507, ptr %508, align 1, !tbaa !18
  %509 = icmp eq i64 %505, %492
  br i1 %509, label %497, label %503, !llvm.loop !36

510:                                              ; preds = %497
  %511 = getelementptr inbounds i8, ptr %502, i64 1
  store i8 101, ptr %502, align 1, !tbaa !18
  %512 = icmp slt i64 %493, 1
  %513 = select i1 %512, i8 45, i8 43
  store i8 %513, ptr %511, align 1, !tbaa !18
  %514 = sub nsw i64 1, %493
  %515 = select i1 %512, i64 %514, i64 %494
  %516 = icmp slt i64 %515, 100
  %517 = select i1 %516, i64 2, i64 3
  %518 = udiv i64 %515, 100
  %519 = getelementptr inbounds i8, ptr %502, i64 %517
  %520 = mul i64 %518, 9223372036854775708
  %521 = add i64 %520, %515
  %522 = shl i64 %521, 1
  %523 = getelementptr inbounds i8, ptr @PAIRS, i64 %522
  %524 = load i16, ptr %523, align 2
  store i16 %524, ptr %519, align 1
  %525 = getelementptr inbounds i8, ptr %502, i64 2
  br i1 %516, label %529, label %526

526:                                              ; preds = %510
  %527 = trunc i64 %518 to i8
  %528 = add i8 %527, 48
  store i8 %528, ptr %525, align 1, !tbaa !18
  br label %529

529:                                              ; preds = %526, %510
  %530 = getelementptr inbounds i8, ptr %525, i64 %517
  br label %531

531:                                              ; preds = %529, %497, %454, %414, %188, %183, %90, %155, %84
  %532 = phi ptr [ %89, %84 ], [ %105, %90 ], [ %156, %155 ], [ %194, %188 ], [ %187, %183 ], [ %415, %414 ], [ %457, %454 ], [ %530, %529 ], [ %502, %497 ]
  %533 = add nuw nsw i64 %26, 1
  %534 = icmp eq i64 %533, %2
  br i1 %534, label %19, label %24, !llvm.loop !37
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none)
define i64 @read_cells(ptr noundef %0, i64 noundef %1, i8 noundef signext %2, i8 noundef signext %3, i64 noundef %4, ptr nocapture noundef readonly %5, ptr nocapture noundef readonly %6, ptr nocapture noundef readonly %7, ptr nocapture noundef %8, ptr nocapture noundef readonly %9) local_unnamed_addr #0 {
  %11 = getelementptr inbounds i8, ptr %0, i64 %1
  %12 = icmp sgt i64 %1, 0
  br i1 %12, label %13, label %100

13:                                               ; preds = %10
  %14 = icmp sgt i64 %4, 0
  %15 = add nsw i64 %4, -1
  %16 = sext i8 %2 to i32
  %17 = icmp eq i64 %4, 1
  %18 = ptrtoint ptr %0 to i64
  br label %19

19:                                               ; preds = %13, %96
  %20 = phi i64 [ 0, %13 ], [ %98, %96 ]
  %21 = phi ptr [ %0, %13 ], [ %97, %96 ]
  br i1 %14, label %22, label %96

22:                                               ; preds = %19, %93
  %23 = phi i64 [ %94, %93 ], [ 0, %19 ]
  %24 = phi ptr [ %61, %93 ], [ %21, %19 ]
  %25 = icmp eq i64 %23, %15
  %26 = load i8, ptr %24, align 1, !tbaa !18
  %27 = icmp eq i8 %26, 34
  br i1 %27, label %32, label %28

28:                                               ; preds = %22
  %29 = icmp eq i8 %26, %2
  %30 = icmp eq i8 %26, 10
  %31 = or i1 %29, %30
  br i1 %31, label %55, label %45

32:                                               ; preds = %22
  %33 = getelementptr inbounds i8, ptr %24, i64 1
  br label %34

34:                                               ; preds = %41, %32
  %35 = phi ptr [ %24, %32 ], [ %42, %41 ]
  %36 = phi i64 [ 0, %32 ], [ 1, %41 ]
  br label %37

37:                                               ; preds = %37, %34
  %38 = phi ptr [ %35, %34 ], [ %39, %37 ]
  %39 = getelementptr inbounds i8, ptr %38, i64 1
  %40 = load i8, ptr %39, align 1, !tbaa !18
  switch i8 %40, label %37 [
    i8 34, label %41
    i8 10, label %100
  ], !llvm.loop !38

41:                                               ; preds = %37
  %42 = getelementptr inbounds i8, ptr %38, i64 2
  %43 = load i8, ptr %42, align 1, !tbaa !18
  %44 = icmp eq i8 %43, 34
  br i1 %44, label %34, label %55, !llvm.loop !39

45:                                               ; preds = %28, %49
  %46 = phi ptr [ %50, %49 ], [ %24, %28 ]
  %47 = phi i8 [ %51, %49 ], [ %26, %28 ]
  %48 = icmp eq i8 %47, 34
  br i1 %48, label %100, label %49

49:                                               ; preds = %45
  %50 = getelementptr inbounds i8, ptr %46, i64 1
  %51 = load i8, ptr %50, align 1, !tbaa !18
  %52 = icmp eq i8 %51, %2
  %53 = icmp eq i8 %51, 10
  %54 = or i1 %52, %53
  br i1 %54, label %55, label %45, !llvm.loop !40

55:                                               ; preds = %49, %41, %28
  %56 = phi i8 [ %26, %28 ], [ %43, %41 ], [ %51, %49 ]
  %57 = phi ptr [ %24, %28 ], [ %42, %41 ], [ %50, %49 ]
  %58 = phi ptr [ %24, %28 ], [ %33, %41 ], [ %24, %49 ]
  %59 = phi ptr [ %24, %28 ], [ %39, %41 ], [ %50, %49 ]
  %60 = phi i64 [ 0, %28 ], [ %36, %41 ], [ 0, %49 ]
  %61 = getelementptr inbounds i8, ptr %57, i64 1
  %62 = sext i8 %56 to i32
  %63 = select i1 %25, i32 10, i32 %16
  %64 = icmp ne i32 %63, %62
  %65 = icmp eq ptr %58, %57
  %66 = select i1 %17, i1 %65, i1 false
  %67 = select i1 %64, i1 true, i1 %66
  br i1 %67, label %100, label %68

68:                                               ; preds = %55
  %69 = getelementptr inbounds ptr, ptr %6, i64 %23
  %70 = load ptr, ptr %69, align 8, !tbaa !41
  %71 = icmp eq ptr %70, null
  br i1 %71, label %85, label %72

72:                                               ; preds = %68
  %73 = icmp eq i64 %60, 0
  br i1 %73, label %74, label %100

74:                                               ; preds = %72
  %75 = ptrtoint ptr %58 to i64
  %76 = sub i64 %75, %18
  %77 = trunc i64 %76 to i32
  %78 = getelementptr inbounds i32, ptr %70, i64 %20
  store i32 %77, ptr %78, align 4, !tbaa !24
  %79 = ptrtoint ptr %59 to i64
  %80 = sub i64 %79, %18
  %81 = trunc i64 %80 to i32
  %82 = getelementptr inbounds ptr, ptr %7, i64 %23
  %83 = load ptr, ptr %82, align 8, !tbaa !41
  %84 = getelementptr inbounds i32, ptr %83, i64 %20
  store i32 %81, ptr %84, align 4, !tbaa !24
  br label %85

85:                                               ; preds = %74, %68
  %86 = getelementptr inbounds ptr, ptr %5, i64 %23
  %87 = load ptr, ptr %86, align 8, !tbaa !41
  %88 = icmp eq ptr %87, null
  br i1 %88, label %93, label %89

89:                                               ; preds = %85
  %90 = getelementptr inbounds double, ptr %87, i64 %20
  %91 = tail call fastcc i64 @read_cell(ptr noundef %0, ptr noundef nonnull %58, ptr noundef nonnull %59, i64 noundef %20, i64 noundef %23, ptr noundef %9, i8 noundef signext %3, i64 noundef 0, ptr noundef nonnull %90, ptr noundef %8) #8, !range !42
  %92 = icmp eq i64 %91, 0
  br i1 %92, label %100, label %93

93:                                               ; preds = %89, %85
  %94 = add nuw nsw i64 %23, 1
  %95 = icmp eq i64 %94, %4
  br i1 %95, label %96, label %22, !llvm.loop !43

96:                                               ; preds = %93, %19
  %97 = phi ptr [ %21, %19 ], [ %61, %93 ]
  %98 = add nuw nsw i64 %20, 1
  %99 = icmp ult ptr %97, %11
  br i1 %99, label %19, label %100, !llvm.loop !44

100:                                              ; preds = %96, %55, %72, %89, %45, %37, %10
  %101 = phi i64 [ 0, %10 ], [ -1, %37 ], [ -1, %45 ], [ -1, %89 ], [ -1, %72 ], [ -1, %55 ], [ %98, %96 ]
  ret i64 %101
}

; Function Attrs: nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none)
define internal fastcc noundef i64 @read_cell(ptr noundef %0, ptr noundef %1, ptr noundef %2, i64 noundef %3, i64 noundef %4, ptr nocapture noundef readonly %5, i8 noundef signext %6, i64 noundef %7, ptr nocapture noundef writeonly %8, ptr nocapture noundef %9) unnamed_addr #0 {
  %11 = ptrtoint ptr %2 to i64
  %12 = ptrtoint ptr %1 to i64
  %13 = icmp ult ptr %1, %2
  br i1 %13, label %14, label %26

14:                                               ; preds = %10
  %15 = sub i64 %11, %12
  %16 = getelementptr i8, ptr %1, i64 %15
  br label %17

17:                                               ; preds = %14, %20
  %18 = phi ptr [ %21, %20 ], [ %1, %14 ]
  %19 = load i8, ptr %18, align 1, !tbaa !18
  switch i8 %19, label %23 [
    i8 32, label %20
    i8 9, label %20
  ]

20:                                               ; preds = %17, %17
  %21 = getelementptr inbounds i8, ptr %18, i64 1
  %22 = icmp eq ptr %21, %2
  br i1 %22, label %23, label %17, !llvm.loop !45

23:                                               ; preds = %17, %20
  %24 = phi ptr [ %16, %20 ], [ %18, %17 ]
  %25 = ptrtoint ptr %24 to i64
  br label %26

26:                                               ; preds = %23, %10
  %27 = phi i64 [ %25, %23 ], [ %12, %10 ]
  %28 = phi ptr [ %24, %23 ], [ %1, %10 ]
  %29 = icmp ult ptr %28, %2
  br i1 %29, label %30, label %46

30:                                               ; preds = %26
  %31 = sub i64 %27, %11
  %32 = getelementptr i8, ptr %2, i64 %31
  br label %33

33:                                               ; preds = %30, %37
  %34 = phi ptr [ %35, %37 ], [ %2, %30 ]
  %35 = getelementptr inbounds i8, ptr %34, i64 -1
  %36 = load i8, ptr %35, align 1, !tbaa !18
  switch i8 %36, label %39 [
    i8 32, label %37
    i8 9, label %37
  ]

37:                                               ; preds = %33, %33
  %38 = icmp ult ptr %28, %35
  br i1 %38, label %33, label %46, !llvm.loop !46

39:                                               ; preds = %33
  %40 = load i8, ptr %28, align 1, !tbaa !18
  %41 = icmp eq i8 %40, 45
  br i1 %41, label %46, label %42

42:                                               ; preds = %39
  %43 = icmp eq i8 %40, 43
  %44 = icmp eq i64 %7, 0
  %45 = and i1 %44, %43
  br label %46

46:                                               ; preds = %37, %26, %42, %39
  %47 = phi ptr [ %34, %39 ], [ %34, %42 ], [ %2, %26 ], [ %32, %37 ]
  %48 = phi i1 [ true, %39 ], [ false, %42 ], [ false, %26 ], [ false, %37 ]
  %49 = phi i1 [ true, %39 ], [ %45, %42 ], [ false, %26 ], [ false, %37 ]
  %50 = ptrtoint ptr %47 to i64
  %51 = zext i1 %49 to i64
  %52 = getelementptr inbounds i8, ptr %28, i64 %51
  %53 = icmp ult ptr %52, %47
  br i1 %53, label %54, label %70

54:                                               ; preds = %46
  %55 = sub i64 %50, %27
  %56 = getelementptr i8, ptr %28, i64 %55
  br label %57

57:                                               ; preds = %63, %54
  %58 = phi ptr [ %65, %63 ], [ %52, %54 ]
  %59 = phi i64 [ %68, %63 ], [ 0, %54 ]
  %60 = load i8, ptr %58, align 1, !tbaa !18
  %61 = add i8 %60, -58
  %62 = icmp ult i8 %61, -10
  br i1 %62, label %70, label %63

63:                                               ; preds = %57
  %64 = mul i64 %59, 10
  %65 = getelementptr inbounds i8, ptr %58, i64 1
  %66 = zext nneg i8 %60 to i64
  %67 = add i64 %64, -48
  %68 = add i64 %67, %66
  %69 = icmp ult ptr %65, %47
  br i1 %69, label %57, label %70, !llvm.loop !47

70:                                               ; preds = %63, %57, %46
  %71 = phi i64 [ 0, %46 ], [ %59, %57 ], [ %68, %63 ]
  %72 = phi ptr [ %52, %46 ], [ %58, %57 ], [ %56, %63 ]
  %73 = phi i1 [ false, %46 ], [ %62, %57 ], [ %62, %63 ]
  %74 = ptrtoint ptr %72 to i64
  %75 = ptrtoint ptr %52 to i64
  %76 = sub i64 %74, %75
  %77 = icmp eq i64 %7, 0
  br i1 %77, label %85, label %78

78:                                               ; preds = %70
  %79 = icmp eq i64 %76, 0
  br i1 %79, label %226, label %80

80:                                               ; preds = %78
  %81 = icmp sgt i64 %76, 1
  br i1 %81, label %82, label %85

82:                                               ; preds = %80
  %83 = load i8, ptr %52, align 1, !tbaa !18
  %84 = icmp eq i8 %83, 48
  br i1 %84, label %226, label %85

85:                                               ; preds = %82, %80, %70
  br i1 %73, label %86, label %117

86:                                               ; preds = %85
  %87 = load i8, ptr %72, align 1, !tbaa !18
  %88 = icmp eq i8 %87, %6
  br i1 %88, label %89, label %117

89:                                               ; preds = %86
  %90 = getelementptr inbounds i8, ptr %72, i64 1
  %91 = icmp ult ptr %90, %47
  br i1 %91, label %92, label %108

92:                                               ; preds = %89
  %93 = sub i64 %50, %74
  %94 = getelementptr i8, ptr %72, i64 %93
  br label %95

95:                                               ; preds = %101, %92
  %96 = phi ptr [ %103, %101 ], [ %90, %92 ]
  %97 = phi i64 [ %106, %101 ], [ %71, %92 ]
  %98 = load i8, ptr %96, align 1, !tbaa !18
  %99 = add i8 %98, -58
  %100 = icmp ult i8 %99, -10
  br i1 %100, label %108, label %101

101:                                              ; preds = %95
  %102 = mul i64 %97, 10
  %103 = getelementptr inbounds i8, ptr %96, i64 1
  %104 = zext nneg i8 %98 to i64
  %105 = add i64 %102, -48
  %106 = add i64 %105, %104
  %107 = icmp eq ptr %103, %94
  br i1 %107, label %108, label %95, !llvm.loop !48

108:                                              ; preds = %101, %95, %89
  %109 = phi i64 [ %71, %89 ], [ %97, %95 ], [ %106, %101 ]
  %110 = phi ptr [ %90, %89 ], [ %96, %95 ], [ %94, %101 ]
  %111 = ptrtoint ptr %90 to i64
  %112 = ptrtoint ptr %110 to i64
  %113 = sub i64 %111, %112
  %114 = sub nsw i64 %76, %113
  %115 = icmp ne i64 %113, 0
  %116 = or i1 %77, %115
  br i1 %116, label %117, label %226

117:                                              ; preds = %108, %86, %85
  %118 = phi i64 [ %112, %108 ], [ %74, %86 ], [ %74, %85 ]
  %119 = phi i64 [ 0, %108 ], [ 1, %86 ], [ 1, %85 ]
  %120 = phi i64 [ %113, %108 ], [ 0, %86 ], [ 0, %85 ]
  %121 = phi i64 [ %114, %108 ], [ %76, %86 ], [ %76, %85 ]
  %122 = phi i64 [ %109, %108 ], [ %71, %86 ], [ %71, %85 ]
  %123 = phi ptr [ %110, %108 ], [ %72, %86 ], [ %72, %85 ]
  %124 = icmp eq i64 %121, 0
  br i1 %124, label %226, label %125

125:                                              ; preds = %117
  %126 = icmp ult ptr %123, %47
  br i1 %126, label %127, label %171

127:                                              ; preds = %125
  %128 = load i8, ptr %123, align 1, !tbaa !18
  %129 = and i8 %128, -33
  %130 = icmp eq i8 %129, 69
  br i1 %130, label %131, label %171

131:                                              ; preds = %127
  %132 = getelementptr inbounds i8, ptr %123, i64 1
  %133 = icmp ult ptr %132, %47
  br i1 %133, label %134, label %141

134:                                              ; preds = %131
  %135 = load i8, ptr %132, align 1, !tbaa !18
  %136 = freeze i8 %135
  %137 = icmp eq i8 %136, 45
  br i1 %137, label %141, label %138

138:                                              ; preds = %134
  %139 = icmp eq i8 %136, 43
  %140 = zext i1 %139 to i64
  br label %141

141:                                              ; preds = %138, %134, %131
  %142 = phi i1 [ false, %138 ], [ false, %131 ], [ true, %134 ]
  %143 = phi i64 [ %140, %138 ], [ 0, %131 ], [ 1, %134 ]
  %144 = getelementptr inbounds i8, ptr %132, i64 %143
  %145 = icmp ult ptr %144, %47
  br i1 %145, label %146, label %226

146:                                              ; preds = %141
  %147 = sub i64 %50, %118
  %148 = getelementptr i8, ptr %123, i64 %147
  br label %149

149:                                              ; preds = %155, %146
  %150 = phi i64 [ %161, %155 ], [ 0, %146 ]
  %151 = phi ptr [ %162, %155 ], [ %144, %146 ]
  %152 = load i8, ptr %151, align 1, !tbaa !18
  %153 = add i8 %152, -58
  %154 = icmp ult i8 %153, -10
  br i1 %154, label %164, label %155

155:                                              ; preds = %149
  %156 = icmp slt i64 %150, 100000
  %157 = mul nsw i64 %150, 10
  %158 = zext nneg i8 %152 to i64
  %159 = add i64 %157, -48
  %160 = add i64 %159, %158
  %161 = select i1 %156, i64 %160, i64 %150
  %162 = getelementptr inbounds i8, ptr %151, i64 1
  %163 = icmp ult ptr %162, %47
  br i1 %163, label %149, label %164, !llvm.loop !49

164:                                              ; preds = %155, %149
  %165 = phi ptr [ %151, %149 ], [ %148, %155 ]
  %166 = phi i64 [ %150, %149 ], [ %161, %155 ]
  %167 = icmp eq ptr %165, %144
  %168 = sub nsw i64 0, %166
  %169 = select i1 %142, i64 %168, i64 %166
  %170 = add nsw i64 %169, %120
  br i1 %167, label %226, label %171

171:                                              ; preds = %164, %127, %125
  %172 = phi i64 [ 0, %164 ], [ %119, %127 ], [ %119, %125 ]
  %173 = phi i64 [ %170, %164 ], [ %120, %127 ], [ %120, %125 ]
  %174 = phi ptr [ %165, %164 ], [ %123, %127 ], [ %123, %125 ]
  %175 = icmp eq ptr %174, %47
  br i1 %175, label %176, label %226

176:                                              ; preds = %171
  %177 = icmp sgt i64 %121, 19
  br i1 %177, label %178, label %213

178:                                              ; preds = %176
  %179 = icmp ult ptr %52, %123
  br i1 %179, label %183, label %213

180:                                              ; preds = %202
  %181 = add nsw i64 %205, %173
  %182 = icmp eq i64 %205, 0
  br i1 %182, label %213, label %208

183:                                              ; preds = %178, %202
  %184 = phi ptr [ %206, %202 ], [ %52, %178 ]
  %185 = phi i64 [ %205, %202 ], [ 0, %178 ]
  %186 = phi i64 [ %204, %202 ], [ 0, %178 ]
  %187 = phi i64 [ %203, %202 ], [ 0, %178 ]
  %188 = load i8, ptr %184, align 1, !tbaa !18
  %189 = sext i8 %188 to i64
  %190 = icmp eq i8 %188, %6
  br i1 %190, label %202, label %191

191:                                              ; preds = %183
  %192 = icmp eq i64 %186, 19
  br i1 %192, label %193, label %195

193:                                              ; preds = %191
  %194 = add nsw i64 %185, 1
  br label %202

195:                                              ; preds = %191
  %196 = mul i64 %187, 10
  %197 = add i64 %196, -48
  %198 = add i64 %197, %189
  %199 = icmp ne i64 %198, 0
  %200 = zext i1 %199 to i64
  %201 = add nsw i64 %186, %200
  br label %202

202:                                              ; preds = %195, %193, %183
  %203 = phi i64 [ %187, %183 ], [ %187, %193 ], [ %198, %195 ]
  %204 = phi i64 [ %186, %183 ], [ 19, %193 ], [ %201, %195 ]
  %205 = phi i64 [ %185, %183 ], [ %194, %193 ], [ %185, %195 ]
  %206 = getelementptr inbounds i8, ptr %184, i64 1
  %207 = icmp ult ptr %206, %123
  br i1 %207, label %183, label %180, !llvm.loop !50

208:                                              ; preds = %180
  %209 = tail call fastcc double @nearest(i64 noundef %203, i64 noundef %181, ptr noundef %5) #8
  %210 = add i64 %203, 1
  %211 = tail call fastcc double @nearest(i64 noundef %210, i64 noundef %181, ptr noundef %5) #8
  %212 = fcmp une double %209, %211
  br i1 %212, label %226, label %213

213:                                              ; preds = %208, %180, %178, %176
  %214 = phi i64 [ %173, %176 ], [ %181, %208 ], [ %181, %180 ], [ %173, %178 ]
  %215 = phi i64 [ %122, %176 ], [ %203, %208 ], [ %203, %180 ], [ 0, %178 ]
  %216 = tail call fastcc double @nearest(i64 noundef %215, i64 noundef %214, ptr noundef %5) #8
  br i1 %48, label %217, label %224

217:                                              ; preds = %213
  %218 = icmp eq i64 %172, 0
  %219 = icmp ne i64 %215, 0
  %220 = or i1 %218, %219
  %221 = or i1 %77, %220
  br i1 %221, label %222, label %224

222:                                              ; preds = %217
  %223 = fneg double %216
  br label %224

224:                                              ; preds = %213, %217, %222
  %225 = phi double [ %223, %222 ], [ %216, %217 ], [ %216, %213 ]
  store double %225, ptr %8, align 8, !tbaa !51
  br label %276

226:                                              ; preds = %82, %78, %108, %117, %164, %171, %208, %141
  %227 = sub i64 %50, %27
  %228 = select i1 %77, i64 6, i64 2
  %229 = icmp sgt i64 %227, 0
  %230 = add i64 %227, -1
  %231 = tail call i64 @llvm.umin.i64(i64 %230, i64 4)
  %232 = add nuw nsw i64 %231, 1
  br label %233

233:                                              ; preds = %256, %226
  %234 = phi i1 [ true, %226 ], [ %258, %256 ]
  %235 = phi i64 [ 0, %226 ], [ %257, %256 ]
  br i1 %229, label %236, label %246

236:                                              ; preds = %233, %243
  %237 = phi i64 [ %244, %243 ], [ 0, %233 ]
  %238 = getelementptr inbounds i8, ptr %28, i64 %237
  %239 = load i8, ptr %238, align 1, !tbaa !18
  %240 = getelementptr inbounds [6 x [6 x i8]], ptr @read_truth.WORDS, i64 0, i64 %235, i64 %237
  %241 = load i8, ptr %240, align 1, !tbaa !18
  %242 = icmp eq i8 %239, %241
  br i1 %242, label %243, label %246

243:                                              ; preds = %236
  %244 = add nuw nsw i64 %237, 1
  %245 = icmp eq i64 %237, %231
  br i1 %245, label %246, label %236, !llvm.loop !53

246:                                              ; preds = %243, %236, %233
  %247 = phi i64 [ 0, %233 ], [ %237, %236 ], [ %232, %243 ]
  %248 = icmp eq i64 %247, %227
  br i1 %248, label %249, label %256

249:                                              ; preds = %246
  %250 = getelementptr inbounds [6 x [6 x i8]], ptr @read_truth.WORDS, i64 0, i64 %235, i64 %227
  %251 = load i8, ptr %250, align 1, !tbaa !18
  %252 = icmp eq i8 %251, 0
  br i1 %252, label %253, label %256

253:                                              ; preds = %249
  %254 = and i64 %235, 1
  %255 = sitofp i64 %254 to double
  store double %255, ptr %8, align 8, !tbaa !51
  br i1 %234, label %276, label %260

256:                                              ; preds = %249, %246
  %257 = add nuw nsw i64 %235, 1
  %258 = icmp ult i64 %257, %228
  %259 = icmp eq i64 %257, %228
  br i1 %259, label %260, label %233, !llvm.loop !54

260:                                              ; preds = %256, %253
  %261 = getelementptr inbounds %struct.cell_list, ptr %9, i64 0, i32 1
  %262 = load i64, ptr %261, align 8, !tbaa !55
  %263 = getelementptr inbounds %struct.cell_list, ptr %9, i64 0, i32 2
  %264 = load i64, ptr %263, align 8, !tbaa !57
  %265 = icmp eq i64 %262, %264
  br i1 %265, label %276, label %266

266:                                              ; preds = %260
  %267 = sub i64 %11, %12
  %268 = ptrtoint ptr %0 to i64
  %269 = sub i64 %12, %268
  %270 = load ptr, ptr %9, align 8, !tbaa !58
  %271 = add nsw i64 %262, 1
  store i64 %271, ptr %261, align 8, !tbaa !55
  %272 = getelementptr inbounds %struct.cell, ptr %270, i64 %262
  store i64 %3, ptr %272, align 8, !tbaa.struct !59
  %273 = getelementptr inbounds i8, ptr %272, i64 8
  store i64 %4, ptr %273, align 8, !tbaa.struct !60
  %274 = getelementptr inbounds i8, ptr %272, i64 16
  store i64 %269, ptr %274, align 8, !tbaa.struct !61
  %275 = getelementptr inbounds i8, ptr %272, i64 24
  store i64 %267, ptr %275, align 8, !tbaa.struct !62
  br label %276

276:                                              ; preds = %253, %266, %260, %224
  %277 = phi i64 [ 1, %224 ], [ 1, %266 ], [ 0, %260 ], [ 1, %253 ]
  ret i64 %277
}

; Function Attrs: nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none)
define i64 @read_objects(ptr noundef %0, i64 noundef %1, ptr nocapture noundef readonly %2, i64 noundef %3, i64 noundef %4, ptr nocapture noundef readonly %5, ptr nocapture noundef readonly %6, ptr nocapture noundef readonly %7, ptr nocapture noundef %8, ptr nocapture noundef readonly %9) local_unnamed_addr #0 {
  %11 = alloca [61 x i64], align 16
  %12 = alloca [61 x i64], align 16
  %13 = alloca [61 x i8], align 16
  %14 = alloca i64, align 8
  %15 = getelementptr inbounds i8, ptr %0, i64 %1
  %16 = icmp eq i64 %3, 0
  %17 = sub nsw i64 64, %3
  %18 = lshr i64 -1, %17
  %19 = select i1 %16, i64 0, i64 %18
  %20 = lshr i64 %19, %4
  %21 = icmp sgt i64 %1, 0
  br i1 %21, label %22, label %367

22:                                               ; preds = %10
  %23 = xor i64 %20, -1
  %24 = ptrtoint ptr %0 to i64
  %25 = getelementptr inbounds %struct.cell_list, ptr %8, i64 0, i32 1
  %26 = getelementptr inbounds %struct.cell_list, ptr %8, i64 0, i32 2
  br label %27

27:                                               ; preds = %22, %363
  %28 = phi ptr [ %0, %22 ], [ %364, %363 ]
  %29 = phi i64 [ 0, %22 ], [ %365, %363 ]
  call void @llvm.lifetime.start.p0(i64 488, ptr nonnull %11) #9
  call void @llvm.lifetime.start.p0(i64 488, ptr nonnull %12) #9
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(488) %12, i8 0, i64 488, i1 false)
  call void @llvm.lifetime.start.p0(i64 61, ptr nonnull %13) #9
  %30 = load i8, ptr %28, align 1, !tbaa !18
  %31 = icmp eq i8 %30, 123
  br i1 %31, label %32, label %362

32:                                               ; preds = %27, %329
  %33 = phi i64 [ %248, %329 ], [ 0, %27 ]
  %34 = phi i64 [ %249, %329 ], [ 0, %27 ]
  %35 = phi i64 [ %330, %329 ], [ %19, %27 ]
  %36 = phi ptr [ %331, %329 ], [ %28, %27 ]
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %14) #9
  store i64 0, ptr %14, align 8, !tbaa !27
  %37 = icmp eq i64 %35, 0
  br i1 %37, label %38, label %42

38:                                               ; preds = %42, %32
  %39 = phi i64 [ 0, %32 ], [ %51, %42 ]
  %40 = and i64 %39, %23
  %41 = icmp eq i64 %40, 0
  br i1 %41, label %55, label %328

42:                                               ; preds = %32, %42
  %43 = phi i64 [ %53, %42 ], [ %35, %32 ]
  %44 = phi i64 [ %51, %42 ], [ 0, %32 ]
  %45 = tail call i64 @llvm.cttz.i64(i64 %43, i1 true), !range !63
  %46 = getelementptr inbounds %struct.member, ptr %2, i64 %45, i32 1
  %47 = load i64, ptr %46, align 8, !tbaa !64
  %48 = icmp eq i64 %47, %34
  %49 = zext i1 %48 to i64
  %50 = shl nuw i64 %49, %45
  %51 = or i64 %50, %44
  %52 = add i64 %43, -1
  %53 = and i64 %52, %43
  %54 = icmp eq i64 %53, 0
  br i1 %54, label %38, label %42, !llvm.loop !66

55:                                               ; preds = %38
  %56 = load i8, ptr %36, align 1, !tbaa !18
  switch i8 %56, label %84 [
    i8 123, label %57
    i8 91, label %57
    i8 34, label %79
  ]

57:                                               ; preds = %55, %55
  %58 = icmp ne i64 %39, 0
  %59 = icmp eq i64 %34, 60
  %60 = or i1 %59, %58
  br i1 %60, label %328, label %61

61:                                               ; preds = %57
  %62 = getelementptr inbounds [61 x i8], ptr %13, i64 0, i64 %34
  store i8 %56, ptr %62, align 1, !tbaa !18
  %63 = load i8, ptr %36, align 1, !tbaa !18
  %64 = icmp eq i8 %63, 123
  %65 = select i1 %64, i64 %35, i64 0
  %66 = getelementptr inbounds [61 x i64], ptr %11, i64 0, i64 %34
  store i64 %65, ptr %66, align 8, !tbaa !27
  %67 = getelementptr inbounds [61 x i64], ptr %12, i64 0, i64 %34
  store i64 0, ptr %67, align 8, !tbaa !27
  br label %68

68:                                               ; preds = %72, %61
  %69 = phi ptr [ %36, %61 ], [ %70, %72 ]
  %70 = getelementptr inbounds i8, ptr %69, i64 1
  %71 = load i8, ptr %70, align 1, !tbaa !18
  switch i8 %71, label %73 [
    i8 32, label %72
    i8 9, label %72
  ]

72:                                               ; preds = %68, %68
  br label %68, !llvm.loop !67

73:                                               ; preds = %68
  %74 = add nsw i64 %34, 1
  %75 = sext i8 %71 to i32
  %76 = icmp eq i8 %56, 123
  %77 = select i1 %76, i32 125, i32 93
  %78 = icmp eq i32 %77, %75
  br i1 %78, label %239, label %246

79:                                               ; preds = %55
  %80 = call fastcc ptr @skip_string(ptr noundef nonnull %36, ptr noundef nonnull %14) #8
  br label %167

81:                                               ; preds = %101
  %82 = add nuw nsw i64 %85, 1
  %83 = icmp eq i64 %82, 3
  br i1 %83, label %106, label %84, !llvm.loop !68

84:                                               ; preds = %55, %81
  %85 = phi i64 [ %82, %81 ], [ 0, %55 ]
  %86 = getelementptr inbounds [3 x %struct.name], ptr @skip_literal.WORDS, i64 0, i64 %85, i32 1
  %87 = load i64, ptr %86, align 8, !tbaa !64
  %88 = getelementptr inbounds [3 x %struct.name], ptr @skip_literal.WORDS, i64 0, i64 %85
  %89 = load ptr, ptr %88, align 16, !tbaa !69
  %90 = tail call i64 @llvm.smax.i64(i64 %87, i64 1)
  br label %91

91:                                               ; preds = %98, %84
  %92 = phi i64 [ 0, %84 ], [ %99, %98 ]
  %93 = getelementptr inbounds i8, ptr %36, i64 %92
  %94 = load i8, ptr %93, align 1, !tbaa !18
  %95 = getelementptr inbounds i8, ptr %89, i64 %92
  %96 = load i8, ptr %95, align 1, !tbaa !18
  %97 = icmp eq i8 %94, %96
  br i1 %97, label %98, label %101

98:                                               ; preds = %91
  %99 = add nuw nsw i64 %92, 1
  %100 = icmp eq i64 %99, %90
  br i1 %100, label %101, label %91, !llvm.loop !70

101:                                              ; preds = %98, %91
  %102 = phi i64 [ %92, %91 ], [ %90, %98 ]
  %103 = icmp eq i64 %102, %87
  br i1 %103, label %104, label %81

104:                                              ; preds = %101
  %105 = getelementptr inbounds i8, ptr %36, i64 %87
  br label %167

106:                                              ; preds = %81
  %107 = icmp eq i8 %56, 45
  %108 = zext i1 %107 to i64
  %109 = getelementptr inbounds i8, ptr %36, i64 %108
  %110 = load i8, ptr %109, align 1, !tbaa !18
  %111 = icmp eq i8 %110, 48
  br i1 %111, label %112, label %115

112:                                              ; preds = %106
  %113 = getelementptr inbounds i8, ptr %109, i64 1
  %114 = load i8, ptr %113, align 1, !tbaa !18
  br label %124

115:                                              ; preds = %106
  %116 = add i8 %110, -58
  %117 = icmp ult i8 %116, -10
  br i1 %117, label %161, label %118

118:                                              ; preds = %115, %118
  %119 = phi ptr [ %123, %118 ], [ %109, %115 ]
  %120 = load i8, ptr %119, align 1, !tbaa !18
  %121 = add i8 %120, -58
  %122 = icmp ult i8 %121, -10
  %123 = getelementptr inbounds i8, ptr %119, i64 1
  br i1 %122, label %124, label %118, !llvm.loop !71

124:                                              ; preds = %118, %112
  %125 = phi i8 [ %114, %112 ], [ %120, %118 ]
  %126 = phi ptr [ %113, %112 ], [ %119, %118 ]
  %127 = icmp eq i8 %125, 46
  br i1 %127, label %128, label %139

128:                                              ; preds = %124
  %129 = getelementptr inbounds i8, ptr %126, i64 1
  %130 = load i8, ptr %129, align 1, !tbaa !18
  %131 = add i8 %130, -58
  %132 = icmp ult i8 %131, -10
  br i1 %132, label %161, label %133

133:                                              ; preds = %128, %133
  %134 = phi ptr [ %138, %133 ], [ %129, %128 ]
  %135 = load i8, ptr %134, align 1, !tbaa !18
  %136 = add i8 %135, -58
  %137 = icmp ult i8 %136, -10
  %138 = getelementptr inbounds i8, ptr %134, i64 1
  br i1 %137, label %139, label %133, !llvm.loop !71

139:                                              ; preds = %133, %124
  %140 = phi i8 [ %125, %124 ], [ %135, %133 ]
  %141 = phi ptr [ %126, %124 ], [ %134, %133 ]
  %142 = and i8 %140, -33
  %143 = icmp eq i8 %142, 69
  br i1 %143, label %144, label %161

144:                                              ; preds = %139
  %145 = getelementptr inbounds i8, ptr %141, i64 1
  %146 = load i8, ptr %145, align 1, !tbaa !18
  %147 = icmp eq i8 %146, 45
  %148 = icmp eq i8 %146, 43
  %149 = or i1 %147, %148
  %150 = zext i1 %149 to i64
  %151 = getelementptr inbounds i8, ptr %145, i64 %150
  %152 = load i8, ptr %151, align 1, !tbaa !18
  %153 = add i8 %152, -58
  %154 = icmp ult i8 %153, -10
  br i1 %154, label %161, label %155

155:                                              ; preds = %144, %155
  %156 = phi ptr [ %160, %155 ], [ %151, %144 ]
  %157 = load i8, ptr %156, align 1, !tbaa !18
  %158 = add i8 %157, -58
  %159 = icmp ult i8 %158, -10
  %160 = getelementptr inbounds i8, ptr %156, i64 1
  br i1 %159, label %161, label %155, !llvm.loop !71

161:                                              ; preds = %155, %144, %139, %128, %115
  %162 = phi ptr [ %141, %139 ], [ null, %144 ], [ null, %115 ], [ null, %128 ], [ %156, %155 ]
  %163 = ptrtoint ptr %162 to i64
  %164 = ptrtoint ptr %36 to i64
  %165 = sub i64 %163, %164
  %166 = icmp sgt i64 %165, 4000
  br i1 %166, label %328, label %167

167:                                              ; preds = %161, %104, %79
  %168 = phi ptr [ %80, %79 ], [ %105, %104 ], [ %162, %161 ]
  %169 = icmp eq ptr %168, null
  br i1 %169, label %328, label %170

170:                                              ; preds = %167
  %171 = icmp eq i64 %39, 0
  br i1 %171, label %213, label %172

172:                                              ; preds = %170
  %173 = load i64, ptr %14, align 8
  %174 = icmp ne i64 %173, 0
  %175 = getelementptr inbounds i8, ptr %36, i64 1
  %176 = ptrtoint ptr %175 to i64
  %177 = sub i64 %176, %24
  %178 = trunc i64 %177 to i32
  %179 = getelementptr inbounds i8, ptr %168, i64 -1
  %180 = ptrtoint ptr %179 to i64
  %181 = sub i64 %180, %24
  %182 = trunc i64 %181 to i32
  br label %183

183:                                              ; preds = %172, %209
  %184 = phi i64 [ %39, %172 ], [ %211, %209 ]
  %185 = phi i64 [ %33, %172 ], [ %188, %209 ]
  %186 = tail call i64 @llvm.cttz.i64(i64 %184, i1 true), !range !63
  %187 = shl nuw i64 1, %186
  %188 = or i64 %187, %185
  %189 = getelementptr inbounds ptr, ptr %6, i64 %186
  %190 = load ptr, ptr %189, align 8, !tbaa !41
  %191 = icmp eq ptr %190, null
  br i1 %191, label %201, label %192

192:                                              ; preds = %183
  %193 = load i8, ptr %36, align 1, !tbaa !18
  %194 = icmp ne i8 %193, 34
  %195 = select i1 %194, i1 true, i1 %174
  br i1 %195, label %328, label %196

196:                                              ; preds = %192
  %197 = getelementptr inbounds i32, ptr %190, i64 %29
  store i32 %178, ptr %197, align 4, !tbaa !24
  %198 = getelementptr inbounds ptr, ptr %7, i64 %186
  %199 = load ptr, ptr %198, align 8, !tbaa !41
  %200 = getelementptr inbounds i32, ptr %199, i64 %29
  store i32 %182, ptr %200, align 4, !tbaa !24
  br label %201

201:                                              ; preds = %196, %183
  %202 = getelementptr inbounds ptr, ptr %5, i64 %186
  %203 = load ptr, ptr %202, align 8, !tbaa !41
  %204 = icmp eq ptr %203, null
  br i1 %204, label %209, label %205

205:                                              ; preds = %201
  %206 = getelementptr inbounds double, ptr %203, i64 %29
  %207 = tail call fastcc i64 @read_cell(ptr noundef %0, ptr noundef nonnull %36, ptr noundef nonnull %168, i64 noundef %29, i64 noundef %186, ptr noundef %9, i8 noundef signext 46, i64 noundef 1, ptr noundef nonnull %206, ptr noundef %8) #8, !range !42
  %208 = icmp eq i64 %207, 0
  br i1 %208, label %328, label %209

209:                                              ; preds = %205, %201
  %210 = add i64 %184, -1
  %211 = and i64 %210, %184
  %212 = icmp eq i64 %211, 0
  br i1 %212, label %213, label %183, !llvm.loop !72

213:                                              ; preds = %209, %170, %239
  %214 = phi i64 [ %240, %239 ], [ %33, %170 ], [ %188, %209 ]
  %215 = phi i64 [ %244, %239 ], [ %34, %170 ], [ %34, %209 ]
  %216 = phi ptr [ %243, %239 ], [ %168, %170 ], [ %168, %209 ]
  br label %217

217:                                              ; preds = %220, %213
  %218 = phi ptr [ %216, %213 ], [ %221, %220 ]
  %219 = load i8, ptr %218, align 1, !tbaa !18
  switch i8 %219, label %222 [
    i8 32, label %220
    i8 9, label %220
  ]

220:                                              ; preds = %217, %217
  %221 = getelementptr inbounds i8, ptr %218, i64 1
  br label %217, !llvm.loop !67

222:                                              ; preds = %217
  %223 = icmp eq i8 %219, 44
  %224 = icmp ne i64 %215, 0
  %225 = and i1 %224, %223
  br i1 %225, label %226, label %231

226:                                              ; preds = %222, %230
  %227 = phi ptr [ %228, %230 ], [ %218, %222 ]
  %228 = getelementptr inbounds i8, ptr %227, i64 1
  %229 = load i8, ptr %228, align 1, !tbaa !18
  switch i8 %229, label %246 [
    i8 32, label %230
    i8 9, label %230
  ]

230:                                              ; preds = %226, %226
  br label %226, !llvm.loop !67

231:                                              ; preds = %222
  %232 = sext i8 %219 to i32
  %233 = add nsw i64 %215, -1
  %234 = getelementptr inbounds [61 x i8], ptr %13, i64 0, i64 %233
  %235 = load i8, ptr %234, align 1, !tbaa !18
  %236 = icmp eq i8 %235, 123
  %237 = select i1 %236, i32 125, i32 93
  %238 = icmp eq i32 %237, %232
  br i1 %238, label %239, label %328

239:                                              ; preds = %231, %73
  %240 = phi i64 [ %33, %73 ], [ %214, %231 ]
  %241 = phi i64 [ %74, %73 ], [ %215, %231 ]
  %242 = phi ptr [ %70, %73 ], [ %218, %231 ]
  %243 = getelementptr inbounds i8, ptr %242, i64 1
  %244 = add nsw i64 %241, -1
  %245 = icmp eq i64 %244, 0
  br i1 %245, label %332, label %213

246:                                              ; preds = %226, %73
  %247 = phi i8 [ %71, %73 ], [ %229, %226 ]
  %248 = phi i64 [ %33, %73 ], [ %214, %226 ]
  %249 = phi i64 [ %74, %73 ], [ %215, %226 ]
  %250 = phi ptr [ %70, %73 ], [ %228, %226 ]
  %251 = add nsw i64 %249, -1
  %252 = getelementptr inbounds [61 x i8], ptr %13, i64 0, i64 %251
  %253 = load i8, ptr %252, align 1, !tbaa !18
  %254 = icmp eq i8 %253, 123
  br i1 %254, label %255, label %329

255:                                              ; preds = %246
  %256 = getelementptr inbounds i8, ptr %250, i64 1
  %257 = icmp eq i8 %247, 34
  br i1 %257, label %258, label %328

258:                                              ; preds = %255
  %259 = call fastcc ptr @skip_string(ptr noundef nonnull %250, ptr noundef nonnull %14) #8
  %260 = icmp eq ptr %259, null
  %261 = load i64, ptr %14, align 8
  %262 = icmp ne i64 %261, 0
  %263 = select i1 %260, i1 true, i1 %262
  br i1 %263, label %328, label %264

264:                                              ; preds = %258
  %265 = getelementptr inbounds [61 x i64], ptr %11, i64 0, i64 %251
  %266 = load i64, ptr %265, align 8, !tbaa !27
  %267 = getelementptr inbounds i8, ptr %259, i64 -1
  %268 = ptrtoint ptr %267 to i64
  %269 = ptrtoint ptr %256 to i64
  %270 = sub i64 %268, %269
  %271 = icmp eq i64 %266, 0
  br i1 %271, label %310, label %272

272:                                              ; preds = %264
  %273 = icmp sgt i64 %270, 0
  br label %274

274:                                              ; preds = %272, %301
  %275 = phi i64 [ %308, %301 ], [ %266, %272 ]
  %276 = phi i64 [ %306, %301 ], [ 0, %272 ]
  %277 = tail call i64 @llvm.cttz.i64(i64 %275, i1 true), !range !63
  %278 = getelementptr inbounds %struct.member, ptr %2, i64 %277
  %279 = load ptr, ptr %278, align 8, !tbaa !69
  %280 = getelementptr inbounds %struct.name, ptr %279, i64 %251
  %281 = getelementptr inbounds %struct.member, ptr %2, i64 %277, i32 1
  %282 = load i64, ptr %281, align 8, !tbaa !64
  %283 = icmp slt i64 %282, %249
  br i1 %283, label %301, label %284

284:                                              ; preds = %274
  %285 = getelementptr inbounds %struct.name, ptr %279, i64 %251, i32 1
  %286 = load i64, ptr %285, align 8, !tbaa !64
  %287 = icmp eq i64 %286, %270
  %288 = and i1 %287, %273
  br i1 %288, label %289, label %301

289:                                              ; preds = %284
  %290 = load ptr, ptr %280, align 8, !tbaa !69
  br label %291

291:                                              ; preds = %289, %298
  %292 = phi i64 [ 0, %289 ], [ %299, %298 ]
  %293 = getelementptr inbounds i8, ptr %290, i64 %292
  %294 = load i8, ptr %293, align 1, !tbaa !18
  %295 = getelementptr inbounds i8, ptr %256, i64 %292
  %296 = load i8, ptr %295, align 1, !tbaa !18
  %297 = icmp eq i8 %294, %296
  br i1 %297, label %298, label %301

298:                                              ; preds = %291
  %299 = add nuw nsw i64 %292, 1
  %300 = icmp slt i64 %299, %270
  br i1 %300, label %291, label %301

301:                                              ; preds = %298, %291, %284, %274
  %302 = phi i64 [ 0, %274 ], [ 0, %284 ], [ %299, %298 ], [ %292, %291 ]
  %303 = icmp eq i64 %302, %270
  %304 = zext i1 %303 to i64
  %305 = shl nuw i64 %304, %277
  %306 = or i64 %305, %276
  %307 = add i64 %275, -1
  %308 = and i64 %307, %275
  %309 = icmp eq i64 %308, 0
  br i1 %309, label %310, label %274, !llvm.loop !73

310:                                              ; preds = %301, %264
  %311 = phi i64 [ 0, %264 ], [ %306, %301 ]
  %312 = getelementptr inbounds [61 x i64], ptr %12, i64 0, i64 %251
  %313 = load i64, ptr %312, align 8, !tbaa !27
  %314 = and i64 %313, %311
  %315 = icmp eq i64 %314, 0
  br i1 %315, label %316, label %328

316:                                              ; preds = %310
  %317 = or i64 %313, %311
  store i64 %317, ptr %312, align 8, !tbaa !27
  br label %318

318:                                              ; preds = %321, %316
  %319 = phi ptr [ %259, %316 ], [ %322, %321 ]
  %320 = load i8, ptr %319, align 1, !tbaa !18
  switch i8 %320, label %328 [
    i8 32, label %321
    i8 9, label %321
    i8 58, label %323
  ]

321:                                              ; preds = %318, %318
  %322 = getelementptr inbounds i8, ptr %319, i64 1
  br label %318, !llvm.loop !67

323:                                              ; preds = %318, %327
  %324 = phi ptr [ %325, %327 ], [ %319, %318 ]
  %325 = getelementptr inbounds i8, ptr %324, i64 1
  %326 = load i8, ptr %325, align 1, !tbaa !18
  switch i8 %326, label %329 [
    i8 32, label %327
    i8 9, label %327
  ]

327:                                              ; preds = %323, %323
  br label %323, !llvm.loop !67

328:                                              ; preds = %38, %57, %167, %231, %161, %258, %255, %310, %205, %192, %318
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %14) #9
  br label %362

329:                                              ; preds = %323, %246
  %330 = phi i64 [ 0, %246 ], [ %311, %323 ]
  %331 = phi ptr [ %250, %246 ], [ %325, %323 ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %14) #9
  br label %32

332:                                              ; preds = %239
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %14) #9
  %333 = load i8, ptr %243, align 1, !tbaa !18
  %334 = icmp eq i8 %333, 10
  br i1 %334, label %335, label %362

335:                                              ; preds = %332
  %336 = getelementptr inbounds i8, ptr %242, i64 -1
  %337 = load i8, ptr %336, align 1, !tbaa !18
  switch i8 %337, label %338 [
    i8 123, label %362
    i8 32, label %362
    i8 9, label %362
  ]

338:                                              ; preds = %335
  %339 = xor i64 %240, -1
  %340 = and i64 %20, %339
  %341 = icmp eq i64 %340, 0
  br i1 %341, label %363, label %342

342:                                              ; preds = %338, %352
  %343 = phi i64 [ %360, %352 ], [ %340, %338 ]
  %344 = tail call i64 @llvm.cttz.i64(i64 %343, i1 true), !range !63
  %345 = getelementptr inbounds ptr, ptr %6, i64 %344
  %346 = load ptr, ptr %345, align 8, !tbaa !41
  %347 = icmp eq ptr %346, null
  br i1 %347, label %348, label %362

348:                                              ; preds = %342
  %349 = load i64, ptr %25, align 8, !tbaa !55
  %350 = load i64, ptr %26, align 8, !tbaa !57
  %351 = icmp eq i64 %349, %350
  br i1 %351, label %362, label %352

352:                                              ; preds = %348
  %353 = load ptr, ptr %8, align 8, !tbaa !58
  %354 = add nsw i64 %349, 1
  store i64 %354, ptr %25, align 8, !tbaa !55
  %355 = getelementptr inbounds %struct.cell, ptr %353, i64 %349
  store i64 %29, ptr %355, align 8, !tbaa.struct !59
  %356 = getelementptr inbounds i8, ptr %355, i64 8
  store i64 %344, ptr %356, align 8, !tbaa.struct !60
  %357 = getelementptr inbounds i8, ptr %355, i64 16
  store i64 0, ptr %357, align 8, !tbaa.struct !61
  %358 = getelementptr inbounds i8, ptr %355, i64 24
  store i64 -1, ptr %358, align 8, !tbaa.struct !62
  %359 = add i64 %343, -1
  %360 = and i64 %359, %343
  %361 = icmp eq i64 %360, 0
  br i1 %361, label %363, label %342, !llvm.loop !74

362:                                              ; preds = %27, %335, %335, %335, %332, %342, %348, %328
  call void @llvm.lifetime.end.p0(i64 61, ptr nonnull %13) #9
  call void @llvm.lifetime.end.p0(i64 488, ptr nonnull %12) #9
  call void @llvm.lifetime.end.p0(i64 488, ptr nonnull %11) #9
  br label %367

363:                                              ; preds = %352, %338
  %364 = getelementptr inbounds i8, ptr %242, i64 2
  call void @llvm.lifetime.end.p0(i64 61, ptr nonnull %13) #9
  call void @llvm.lifetime.end.p0(i64 488, ptr nonnull %12) #9
  call void @llvm.lifetime.end.p0(i64 488, ptr nonnull %11) #9
  %365 = add nuw nsw i64 %29, 1
  %366 = icmp ult ptr %364, %15
  br i1 %366, label %27, label %367, !llvm.loop !75

367:                                              ; preds = %363, %10, %362
  %368 = phi i64 [ -1, %362 ], [ 0, %10 ], [ %365, %363 ]
  ret i64 %368
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.cttz.i64(i64, i1 immarg) #3

; Function Attrs: nofree norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none)
define internal fastcc ptr @skip_string(ptr noundef readonly %0, ptr nocapture noundef writeonly %1) unnamed_addr #4 {
  %3 = getelementptr inbounds i8, ptr %0, i64 1
  %4 = load i8, ptr %3, align 1, !tbaa !18
  %5 = icmp eq i8 %4, 34
  br i1 %5, label %37, label %6

6:                                                ; preds = %2, %32
  %7 = phi i8 [ %35, %32 ], [ %4, %2 ]
  %8 = phi ptr [ %34, %32 ], [ %3, %2 ]
  %9 = phi ptr [ %33, %32 ], [ %0, %2 ]
  %10 = icmp ult i8 %7, 32
  br i1 %10, label %40, label %11

11:                                               ; preds = %6
  %12 = icmp eq i8 %7, 92
  br i1 %12, label %13, label %32

13:                                               ; preds = %11
  store i64 1, ptr %1, align 8, !tbaa !27
  %14 = getelementptr inbounds i8, ptr %9, i64 2
  %15 = load i8, ptr %14, align 1, !tbaa !18
  switch i8 %15, label %40 [
    i8 117, label %16
    i8 34, label %32
    i8 92, label %32
    i8 47, label %32
    i8 98, label %32
    i8 102, label %32
    i8 110, label %32
    i8 114, label %32
    i8 116, label %32
  ]

16:                                               ; preds = %13
  %17 = getelementptr i8, ptr %9, i64 6
  br label %18

18:                                               ; preds = %16, %29
  %19 = phi i64 [ %30, %29 ], [ 0, %16 ]
  %20 = phi ptr [ %21, %29 ], [ %14, %16 ]
  %21 = getelementptr inbounds i8, ptr %20, i64 1
  %22 = load i8, ptr %21, align 1, !tbaa !18
  %23 = add i8 %22, -58
  %24 = icmp ult i8 %23, -10
  br i1 %24, label %25, label %29

25:                                               ; preds = %18
  %26 = or i8 %22, 32
  %27 = add i8 %26, -103
  %28 = icmp ult i8 %27, -6
  br i1 %28, label %40, label %29

29:                                               ; preds = %25, %18
  %30 = add nuw nsw i64 %19, 1
  %31 = icmp eq i64 %30, 4
  br i1 %31, label %32, label %18, !llvm.loop !76

32:                                               ; preds = %29, %13, %13, %13, %13, %13, %13, %13, %13, %11
  %33 = phi ptr [ %8, %11 ], [ %14, %13 ], [ %14, %13 ], [ %14, %13 ], [ %14, %13 ], [ %14, %13 ], [ %14, %13 ], [ %14, %13 ], [ %14, %13 ], [ %17, %29 ]
  %34 = getelementptr inbounds i8, ptr %33, i64 1
  %35 = load i8, ptr %34, align 1, !tbaa !18
  %36 = icmp eq i8 %35, 34
  br i1 %36, label %37, label %6, !llvm.loop !77

37:                                               ; preds = %32, %2
  %38 = phi ptr [ %0, %2 ], [ %33, %32 ]
  %39 = getelementptr inbounds i8, ptr %38, i64 2
  br label %40

40:                                               ; preds = %13, %6, %25, %37
  %41 = phi ptr [ %39, %37 ], [ null, %25 ], [ null, %6 ], [ null, %13 ]
  ret ptr %41
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #5

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: read)
define internal fastcc double @nearest(i64 noundef %0, i64 noundef %1, ptr nocapture noundef readonly %2) unnamed_addr #6 {
  %4 = icmp eq i64 %0, 0
  br i1 %4, label %107, label %5

5:                                                ; preds = %3
  %6 = icmp ult i64 %0, 9007199254740993
  %7 = add i64 %1, 22
  %8 = icmp ult i64 %7, 45
  %9 = and i1 %6, %8
  br i1 %9, label %10, label %22

10:                                               ; preds = %5
  %11 = icmp slt i64 %1, 0
  %12 = uitofp i64 %0 to double
  br i1 %11, label %13, label %18

13:                                               ; preds = %10
  %14 = sub nsw i64 0, %1
  %15 = getelementptr inbounds [23 x double], ptr @nearest.EXACT, i64 0, i64 %14
  %16 = load double, ptr %15, align 8, !tbaa !51
  %17 = fdiv double %12, %16
  br label %107

18:                                               ; preds = %10
  %19 = getelementptr inbounds [23 x double], ptr @nearest.EXACT, i64 0, i64 %1
  %20 = load double, ptr %19, align 8, !tbaa !51
  %21 = fmul double %20, %12
  br label %107

22:                                               ; preds = %5
  %23 = add i64 %1, -309
  %24 = icmp ult i64 %23, -651
  br i1 %24, label %25, label %28

25:                                               ; preds = %22
  %26 = icmp slt i64 %1, 0
  br i1 %26, label %107, label %27

27:                                               ; preds = %25
  br label %107

28:                                               ; preds = %22
  %29 = getelementptr %struct.power_of_ten, ptr %2, i64 %1
  %30 = getelementptr %struct.power_of_ten, ptr %29, i64 342
  %31 = load i64, ptr %30, align 8, !tbaa.struct !61
  %32 = getelementptr %struct.power_of_ten, ptr %29, i64 342, i32 1
  %33 = load i64, ptr %32, align 8, !tbaa.struct !62
  %34 = add nsw i64 %1, -56
  %35 = icmp ult i64 %34, -83
  %36 = icmp eq i64 %33, 0
  %37 = select i1 %35, i1 %36, i1 false
  %38 = sext i1 %37 to i64
  %39 = add i64 %31, %38
  %40 = tail call i64 @llvm.ctlz.i64(i64 %0, i1 true), !range !63
  %41 = shl i64 %0, %40
  %42 = zext i64 %41 to i128
  %43 = zext i64 %39 to i128
  %44 = mul nuw i128 %43, %42
  %45 = and i128 %44, 9426286221665580875776
  %46 = icmp eq i128 %45, 9426286221665580875776
  %47 = trunc i128 %44 to i64
  %48 = lshr i128 %44, 64
  %49 = trunc i128 %48 to i64
  br i1 %46, label %50, label %60

50:                                               ; preds = %28
  %51 = sext i1 %35 to i64
  %52 = add i64 %33, %51
  %53 = zext i64 %52 to i128
  %54 = mul nuw i128 %53, %42
  %55 = lshr i128 %54, 64
  %56 = add nuw i128 %44, %55
  %57 = trunc i128 %56 to i64
  %58 = lshr i128 %56, 64
  %59 = trunc i128 %58 to i64
  br label %60

60:                                               ; preds = %50, %28
  %61 = phi i64 [ %57, %50 ], [ %47, %28 ]
  %62 = phi i64 [ %59, %50 ], [ %49, %28 ]
  %63 = lshr i64 %62, 63
  %64 = add nuw nsw i64 %63, 9
  %65 = lshr i64 %62, %64
  %66 = mul nsw i64 %1, 217706
  %67 = ashr i64 %66, 16
  %68 = xor i64 %40, 63
  %69 = add nsw i64 %68, %67
  %70 = add nsw i64 %69, %63
  %71 = icmp slt i64 %70, -1022
  br i1 %71, label %72, label %81

72:                                               ; preds = %60
  %73 = icmp ult i64 %70, -1085
  br i1 %73, label %107, label %74

74:                                               ; preds = %72
  %75 = sub nuw nsw i64 -1022, %70
  %76 = lshr i64 %65, %75
  %77 = and i64 %76, 1
  %78 = add nuw nsw i64 %77, %76
  %79 = lshr i64 %78, 1
  %80 = bitcast i64 %79 to double
  br label %107

81:                                               ; preds = %60
  %82 = icmp ult i64 %61, 2
  %83 = add nsw i64 %1, 4
  %84 = icmp ult i64 %83, 28
  %85 = and i1 %84, %82
  %86 = and i64 %65, 3
  %87 = icmp eq i64 %86, 1
  %88 = select i1 %85, i1 %87, i1 false
  %89 = shl i64 %65, %64
  %90 = icmp eq i64 %89, %62
  %91 = select i1 %88, i1 %90, i1 false
  %92 = and i64 %65, 72057594037927932
  %93 = select i1 %91, i64 %92, i64 %65
  %94 = and i64 %93, 1
  %95 = add nuw nsw i64 %94, %93
  %96 = icmp ult i64 %95, 18014398509481984
  %97 = select i1 %96, i64 1023, i64 1024
  %98 = add nsw i64 %97, %70
  %99 = icmp ugt i64 %98, 2046
  br i1 %99, label %107, label %100

100:                                              ; preds = %81
  %101 = select i1 %96, i64 1, i64 2
  %102 = lshr i64 %95, %101
  %103 = and i64 %102, 9218868437227405311
  %104 = shl nuw nsw i64 %98, 52
  %105 = or i64 %103, %104
  %106 = bitcast i64 %105 to double
  br label %107

107:                                              ; preds = %81, %74, %72, %100, %27, %25, %13, %18, %3
  %108 = phi double [ 0.000000e+00, %3 ], [ %17, %13 ], [ %21, %18 ], [ 0x7FF0000000000000, %27 ], [ 0.000000e+00, %25 ], [ %80, %74 ], [ 0.000000e+00, %72 ], [ %106, %100 ], [ 0x7FF0000000000000, %81 ]
  ret double %108
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.ctlz.i64(i64, i1 immarg) #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.abs.i64(i64, i1 immarg) #7

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #7

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #7

attributes #0 = { nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none) }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nofree norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none) }
attributes #5 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #6 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: read) }
attributes #7 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #8 = { nobuiltin }
attributes #9 = { nounwind }


!0 = !{i32 7, !"Dwarf Version", i32 4}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 1}
!4 = !{!"clang version 18.1.6 (https://github.com/ziglang/zig-bootstrap 98bc6bf4fc4009888d33941daf6b600d20a42a56)"}
!5 = distinct !{!5, !6, !7}
!6 = !{!"llvm.loop.mustprogress"}
!7 = !{!"llvm.loop.unroll.disable"}
!8 = !{!9, !10, i64 0}
!9 = !{!"", !10, i64 0, !13, i64 8, !13, i64 16, !10, i64 24, !10, i64 32, !10, i64 40, !10, i64 48, !13, i64 56}
!10 = !{!"any pointer", !11, i64 0}
!11 = !{!"omnipotent char", !12, i64 0}
!12 = !{!"Simple C/C++ TBAA"}
!13 = !{!"long long", !11, i64 0}
!14 = !{!9, !13, i64 8}
!15 = !{!9, !13, i64 16}
!16 = !{!9, !10, i64 24}
!17 = !{!9, !10, i64 48}
!18 = !{!11, !11, i64 0}
!19 = !{i64 7, i64 65}
!20 = distinct !{!20, !6, !7}
!21 = distinct !{!21, !6, !7}
!22 = !{!9, !13, i64 56}
!23 = !{!9, !10, i64 32}
!24 = !{!25, !25, i64 0}
!25 = !{!"int", !11, i64 0}
!26 = !{!9, !10, i64 40}
!27 = !{!13, !13, i64 0}
!28 = distinct !{!28, !6, !7}
!29 = distinct !{!29, !6, !7}
!30 = !{!31, !13, i64 0}
!31 = !{!"", !13, i64 0, !13, i64 8}
!32 = !{!31, !13, i64 8}
!33 = distinct !{!33, !6, !7}
!34 = distinct !{!34, !6, !7}
!35 = distinct !{!35, !6, !7}
!36 = distinct !{!36, !6, !7}
!37 = distinct !{!37, !6, !7}
!38 = distinct !{!38, !6, !7}
!39 = distinct !{!39, !7}
!40 = distinct !{!40, !6, !7}
!41 = !{!10, !10, i64 0}
!42 = !{i64 0, i64 2}
!43 = distinct !{!43, !6, !7}
!44 = distinct !{!44, !6, !7}
!45 = distinct !{!45, !6, !7}
!46 = distinct !{!46, !6, !7}
!47 = distinct !{!47, !6, !7}
!48 = distinct !{!48, !6, !7}
!49 = distinct !{!49, !6, !7}
!50 = distinct !{!50, !6, !7}
!51 = !{!52, !52, i64 0}
!52 = !{!"double", !11, i64 0}
!53 = distinct !{!53, !6, !7}
!54 = distinct !{!54, !6, !7}
!55 = !{!56, !13, i64 8}
!56 = !{!"", !10, i64 0, !13, i64 8, !13, i64 16}
!57 = !{!56, !13, i64 16}
!58 = !{!56, !10, i64 0}
!59 = !{i64 0, i64 8, !27, i64 8, i64 8, !27, i64 16, i64 8, !27, i64 24, i64 8, !27}
!60 = !{i64 0, i64 8, !27, i64 8, i64 8, !27, i64 16, i64 8, !27}
!61 = !{i64 0, i64 8, !27, i64 8, i64 8, !27}
!62 = !{i64 0, i64 8, !27}
!63 = !{i64 0, i64 65}
!64 = !{!65, !13, i64 8}
!65 = !{!"", !10, i64 0, !13, i64 8}
!66 = distinct !{!66, !6, !7}
!67 = distinct !{!67, !6, !7}
!68 = distinct !{!68, !6, !7}
!69 = !{!65, !10, i64 0}
!70 = distinct !{!70, !6, !7}
!71 = distinct !{!71, !6, !7}
!72 = distinct !{!72, !6, !7}
!73 = distinct !{!73, !6, !7}
!74 = distinct !{!74, !6, !7}
!75 = distinct !{!75, !6, !7}
!76 = distinct !{!76, !6, !7}
!77 = distinct !{!77, !6, !7}
