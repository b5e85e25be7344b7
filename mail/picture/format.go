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

// heads read what stands in front of the pixels, by format.
var heads = [...]func([]byte) (head, error){
	formatJPEG: jpegHead, formatPNG: pngHead, formatGIF: gifHead, formatWebP: webpHead,
}

const (
	pngMagic  = "\x89PNG\r\n\x1a\n"
	jpegMagic = "\xff\xd8\xff"
)

// formatOf tells the format by the first bytes. What isn't taken is refused in words that say what to do.
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
		return 0, refusedf("The file is empty.")
	case len(b) >= 12 && string(b[4:8]) == "ftyp":
		brands := string(b[8:min(len(b), 64)])
		switch {
		case strings.Contains(brands, "avif") || strings.Contains(brands, "avis"):
			return 0, refusedf("AVIF pictures aren't taken: few mail programs show them. Save it as JPEG or PNG.")
		case strings.Contains(brands, "hei") || strings.Contains(brands, "hev") || strings.Contains(brands, "mif1"):
			return 0, refusedf("HEIC pictures aren't taken: mail programs don't show them. " +
				"Save it as JPEG or PNG. An iPhone takes JPEG pictures with Settings, Camera, Formats, Most Compatible.")
		}
		return 0, refusedf("The file is a film, not a picture.")
	case starts("II*\x00", "MM\x00*"):
		return 0, refusedf("TIFF pictures aren't taken: mail programs don't show them. Save it as JPEG or PNG.")
	case starts("BM"):
		return 0, refusedf("BMP pictures aren't taken: they are large. Save it as JPEG or PNG.")
	case starts("\xff\x0a", "\x00\x00\x00\x0cJXL "):
		return 0, refusedf("JPEG XL pictures aren't taken: mail programs don't show them. Save it as JPEG or PNG.")
	case isSVG(b):
		return 0, refusedf("SVG pictures aren't taken: mail programs don't show them, and they may hold scripts. " +
			"Export it as PNG, twice as large as it is shown.")
	case starts("%PDF"):
		return 0, refusedf("The file is a PDF, not a picture. Export the page as PNG.")
	}
	return 0, refusedf("The file is no picture that is known: PNG, JPEG, GIF and WebP are taken.")
}

// isSVG reports whether text looks like SVG: markup with such an element near its beginning.
func isSVG(b []byte) bool {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\ufeff")), " \t\r\n")
	return bytes.HasPrefix(b, []byte("<")) && bytes.Contains(bytes.ToLower(b[:min(len(b), 4096)]), []byte("<svg"))
}
