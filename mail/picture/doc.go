// Package picture converts an uploaded image to a form for emails: a PNG, JPEG or GIF that every email client shows,
// without metadata. It decides by the bytes of the file, never by its name.
//
//	picture.go   Open: reads the header; Make: creates the stored files
//	format.go    detects the format, and suggests what to do about unsupported ones
//	jpeg.go png.go webp.go   header data: size, orientation, profile
//	gif.go       removes comments and trailing data from a GIF
//	exif.go      orientation
//	icc.go       converts colors to sRGB from profiles with a matrix
//	document.go  PDF files, which are stored unchanged
//	scans.go work.go   limits on a decoder's work, and its cancellation
//	rows.go scale.go   access to pixels by row, and scaling; photos by their planes
//	ground.go    whether a transparent image is visible on a background
//	play.go      play marks on images that lead to videos
//
// # Invariants
//
//   - Nothing is decoded before the number of pixels and the memory they need are known from the header.
//   - Stored images are rewritten pixel by pixel, and GIFs block by block. No data other than the image survives: no
//     EXIF, no text, no profile, and nothing after the end.
//   - A stored image is upright, and its colors are sRGB. Profiles without a matrix, and those of CMYK and grayscale
//     images, are dropped, and the colors are not converted.
//
// # Flow
//
//	bytes → format → header, limits → decode → shrink, row by row → sRGB → turn upright → encode
package picture
