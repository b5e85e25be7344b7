// Package assets holds the scripts and fonts that browsers load for the console, and stylesheets of scripts.
//
//	src/         what we write, and which libraries go with it (package.json, package-lock.json)
//	bundle.go    src ─► dist, by esbuild; `make console` runs it, nothing else needs npm
//	dist/        what is served: it is committed, and embedded here by gzip, with .gz after the name
//	  htmx.js      partial updates, for all pages
//	  console.js   dialogs, menus, uploads, copies of what was written, for all pages
//	  editor.js    the visual editor of newsletters, with editor.css, for pages that have one
//	  code.js      the editor of HTML, for pages that have one; it wants editor.css, too
//	  inter-*.woff2  the font of the console: its Latin letters, and those of more languages
//	  LICENSES.txt of the libraries in them; it stands there as it is, too, to be read
//	  SOURCES      the SHA-256 of src; SHA256SUMS: those of all files, as they are without gzip
//
// All scripts are modules (<script type="module">), and run under a Content-Security-Policy without any unsafe source.
// The attributes by which pages use them stand at the head of each script in src.
package assets

import (
	"embed"
	"io/fs"
	"strings"
	"sync"
)

//go:embed dist/*.gz dist/SHA256SUMS dist/SOURCES
var dist embed.FS

// Files are the files of dist that are embedded, by their names there.
var Files = func() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is not valid
	}
	return files
}()

// Sum returns the SHA-256 of a file, as it is without gzip, in hexadecimal digits, for addresses that change with it. A
// file that there isn't has none.
func Sum(name string) string { return sums()[name] }

var sums = sync.OnceValue(func() map[string]string {
	text, err := fs.ReadFile(Files, "SHA256SUMS")
	if err != nil {
		panic(err) // it is embedded
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			all[name] = sum
		}
	}
	return all
})
