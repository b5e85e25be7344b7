package console

import (
	"io/fs"
	"path"
	"strings"

	"newsletterd/handlers/console/assets"
	"newsletterd/handlers/web"
)

// scriptAddress is the address of a file of assets. It changes with the contents, so it may be kept for ever.
func scriptAddress(name string) string {
	const digits = 8
	sum := assets.Sum(name)
	if sum == "" {
		return ""
	}
	return Path + "/" + name + "?v=" + sum[:min(digits, len(sum))]
}

// scripts of every page.
var scripts = []string{scriptAddress("htmx.js"), scriptAddress("console.js")}

// editorScript is the script of the editor of campaigns.
var editorScript = scriptAddress("editor.js")

// codeScript is that of the editor of HTML.
var codeScript = scriptAddress("code.js")

// scriptRoutes serve the files of assets that browsers load.
func (o *Console) scriptRoutes(t *web.Table) {
	types := map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	}
	files, err := fs.ReadDir(assets.Files, ".")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, f := range files {
		name, packed := strings.CutSuffix(f.Name(), ".gz")
		if !packed {
			continue
		}
		body, err := fs.ReadFile(assets.Files, f.Name())
		if err != nil {
			panic(err) // it is embedded
		}
		file := web.NewPackedFile(types[path.Ext(name)], body)
		t.Add("GET", Path+"/"+name, web.Public(), web.Console, web.Get(func(c *web.Call) (web.Text, error) {
			c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			return file.For(c), nil
		}), "The console: "+name)
	}
}
