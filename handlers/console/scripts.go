package console

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"newsletterd/handlers/console/assets"
	"newsletterd/handlers/web"
)

// scriptAddress returns the URL of a file in assets. The URL changes with the contents, so browsers may cache the file
// forever.
func scriptAddress(name string) string {
	const digits = 8
	sum := assets.Sum(name)
	if sum == "" {
		return ""
	}
	return Path + "/" + name + "?v=" + sum[:min(digits, len(sum))]
}

// scripts lists the scripts that every page loads.
var scripts = []string{scriptAddress("htmx.js"), scriptAddress("console.js")}

// fontFaces declares the font Inter. A browser loads the second file only for characters that the first file lacks.
var fontFaces = fontFace("inter-latin.woff2", "U+0-FF, U+131, U+152-153, U+2BB-2BC, U+2C6, U+2DA, U+2DC, U+304, "+
	"U+308, U+329, U+2000-206F, U+20AC, U+2122, U+2191, U+2193, U+2212, U+2215, U+FEFF, U+FFFD") +
	fontFace("inter-latin-ext.woff2", "U+100-2BA, U+2BD-2C5, U+2C7-2CC, U+2CE-2D7, U+2DD-2FF, U+1D00-1DBF, U+1E00-1E9F, "+
		"U+1EF2-1EFF, U+2020, U+20A0-20AB, U+20AD-20C0, U+2113, U+2C60-2C7F, U+A720-A7FF")

func fontFace(file, letters string) string {
	return fmt.Sprintf("@font-face { font-family: Inter; font-weight: 100 900; font-display: swap; src: url(%s) "+
		"format(\"woff2\"); unicode-range: %s; }\n", scriptAddress(file), letters)
}

// fontAddress is the URL of the font file that every page needs.
var fontAddress = scriptAddress("inter-latin.woff2")

// editorScript is the URL of the campaign editor's script.
var editorScript = scriptAddress("editor.js")

// codeScript is the URL of the HTML editor's script.
var codeScript = scriptAddress("code.js")

// scriptRoutes adds the routes for the files in assets.
func (o *Console) scriptRoutes(t *web.Table) {
	types := map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
		".woff2": "font/woff2",
	}
	files, err := fs.ReadDir(assets.Files, ".")
	if err != nil {
		panic(err) // the files are embedded
	}
	for _, f := range files {
		name, packed := strings.CutSuffix(f.Name(), ".gz")
		if !packed {
			continue
		}
		file := web.NewPackedFile(types[path.Ext(name)], func() []byte {
			body, err := fs.ReadFile(assets.Files, f.Name())
			if err != nil {
				panic(err) // the file is embedded
			}
			return body
		})
		t.Add("GET", Path+"/"+name, web.Public(), web.Console, web.Get(func(c *web.Call) (web.Text, error) {
			c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			return file.For(c), nil
		}), "The console: "+name)
	}
}
