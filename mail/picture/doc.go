// Package picture makes of an uploaded picture what a mail may show: a PNG, JPEG or GIF that every mail program opens,
// without metadata. It decides by the bytes of the file, never by its name.
//
//	picture.go   Open: what the first bytes say; Make: the files that are kept
//	format.go    which format the bytes are, and what to do about those that aren't taken
//	jpeg.go png.go webp.go   what stands in front of the pixels: size, orientation, profile
//	gif.go       a GIF without comments and whatever follows its end
//	exif.go      the orientation
//	icc.go       colours of a profile with a matrix, in sRGB
//	document.go  PDF files, which are kept as they are
//	scans.go work.go   limits on the work of a decoder, and when it stops
//	rows.go scale.go   pixels row by row, and smaller pictures of them
//	ground.go    whether a picture can be seen on a ground that it lets through
//
// # Invariants
//
//   - Nothing is decoded before its header has shown how many pixels it has and how much memory they take.
//   - What is kept is written anew, pixel by pixel; of a GIF, block by block. No byte of a file that isn't of its picture
//     gets through: no EXIF, no text, no profile, nothing after the end.
//   - A picture stands upright, and its colours are sRGB. Profiles without a matrix, those of CMYK and of grey pictures
//     are left out without a change of the colours.
//
// # Flow
//
//	bytes → format → header, limits → decode → shrink, row by row → sRGB → turn upright → encode
package picture
