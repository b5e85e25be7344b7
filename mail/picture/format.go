package picture

import (
	"bytes"
	"slices"
	"strings"
)

type format byte

const (
	formatJPEG format = iota
	formatPNG
	formatGIF
	formatWebP
)

// heads holds the functions that parse the header of each format.
var heads = [...]func([]byte) (head, error){
	formatJPEG: jpegHead, formatPNG: pngHead, formatGIF: gifHead, formatWebP: webpHead,
}

const (
	pngMagic  = "\x89PNG\r\n\x1a\n"
	jpegMagic = "\xff\xd8\xff"
)

// formatOf detects the format of an image from its first bytes. If the format is not supported, the error says what to
// do.
func formatOf(b []byte) (format, error) {
	starts := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(b, []byte(p)) })
	}
	switch {
	case starts(jpegMagic):
		return formatJPEG, nil
	case starts(pngMagic):
		return formatPNG, nil
	case starts("GIF87a", "GIF89a"):
		return formatGIF, nil
	case len(b) >= 12 && starts("RIFF") && string(b[8:12]) == "WEBP":
		return formatWebP, nil
	}
	switch {
	case len(b) == 0:
		return 0, refusedf("The file is empty. Choose another one.")
	case len(b) >= 12 && string(b[4:8]) == "ftyp":
		brands := string(b[8:min(len(b), 64)])
		switch {
		case strings.Contains(brands, "avif") || strings.Contains(brands, "avis"):
			return 0, refusedf("AVIF is not supported: few email programs show it. Save the image as JPEG or PNG.")
		case strings.Contains(brands, "hei") || strings.Contains(brands, "hev") || strings.Contains(brands, "mif1"):
			return 0, refusedf("HEIC is not supported: email programs don't show it. Save the image as JPEG or " +
				"PNG. To take JPEG photos with an iPhone, choose Settings, Camera, Formats, Most Compatible.")
		}
		return 0, refusedf("The file is a video. Choose an image.")
	case starts("II*\x00", "MM\x00*"):
		return 0, refusedf("TIFF is not supported: email programs don't show it. Save the image as JPEG or PNG.")
	case starts("BM"):
		return 0, refusedf("BMP is not supported: the files are too large for email. Save the image as JPEG or PNG.")
	case starts("\xff\x0a", "\x00\x00\x00\x0cJXL "):
		return 0, refusedf("JPEG XL is not supported: email programs don't show it. Save the image as JPEG or PNG.")
	case isSVG(b):
		return 0, refusedf("SVG is not supported: email programs don't show it, and it can contain scripts. Export " +
			"the image as PNG at twice its display size.")
	case starts("%PDF"):
		return 0, refusedf("The file is a PDF. Export the page as PNG.")
	}
	return 0, refusedf("This file type is not supported. Use PNG, JPEG, GIF or WebP.")
}

// isSVG reports whether text looks like SVG: markup with an svg element near its start.
func isSVG(b []byte) bool {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\ufeff")), " \t\r\n")
	return bytes.HasPrefix(b, []byte("<")) && bytes.Contains(bytes.ToLower(b[:min(len(b), 4096)]), []byte("<svg"))
}
