// Package assets contains the scripts and fonts that browsers load for the console, and the scripts' stylesheets.
//
//	src/         the sources and the list of libraries (package.json, package-lock.json)
//	bundle.go    src ─► dist with esbuild; `make console` runs it, nothing else needs npm
//	dist/        the served files, committed and embedded as gzip files with the suffix .gz
//	  htmx.js      partial updates, for all pages
//	  console.js   dialogs, menus, uploads, drafts of entered text, for all pages
//	  editor.js    the visual newsletter editor, with editor.css, for pages that have one
//	  code.js      the HTML editor, for pages that have one; it also needs editor.css
//	  inter-*.woff2  the font of the console: basic Latin letters, and those of more languages
//	  LICENSES.txt licenses of the libraries, also stored uncompressed for readers
//	  SOURCES      the SHA-256 of src; SHA256SUMS: those of all uncompressed files
//
// All scripts are modules (<script type="module">) and run under a Content-Security-Policy without unsafe sources. The
// comment at the top of each script in src describes the attributes that pages use.
package assets

import (
	"embed"
	"io/fs"
	"strings"
	"sync"
)

//go:embed dist/*.gz dist/SHA256SUMS dist/SOURCES
var dist embed.FS

// Files contains the files in dist, which are embedded in the program.
var Files = func() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is not valid
	}
	return files
}()

// Sum returns the hex SHA-256 of an uncompressed file, for URLs that change with the content. For an unknown file, it
// returns an empty string.
func Sum(name string) string { return sums()[name] }

var sums = sync.OnceValue(func() map[string]string {
	text, err := fs.ReadFile(Files, "SHA256SUMS")
	if err != nil {
		panic(err) // the file is embedded
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			all[name] = sum
		}
	}
	return all
})
