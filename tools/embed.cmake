# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=web -DOUT=web_files.c -P tools/embed.cmake: writes the files of a folder as C
# arrays, sorted by name, each with a hash of its content for the ETag (serve/assets.h).
file(GLOB files ${FOLDER}/*)
list(SORT files)
set(arrays "")
set(rows "")
set(number 0)
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  file(SHA256 ${file} mark)
  string(SUBSTRING ${mark} 0 16 mark)
  string(LENGTH "${hex}" length)
  math(EXPR size "${length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const unsigned char file_${number}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", \"${mark}\", file_${number}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by tools/embed.cmake from web/. */
#include \"serve/assets.h\"

${arrays}
const serve_asset serve_assets[] = {
${rows}};
const size_t serve_n_assets = ${number};
")
