package console

import (
	"embed"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// iconFiles holds SVG fragments with a size of 24 × 24 units (icons/LICENSE).
//
//go:embed icons/*.svg
var iconFiles embed.FS

var icons = sync.OnceValue(readIcons)

func readIcons() map[string]template.HTML {
	names, err := fs.Glob(iconFiles, "icons/*.svg")
	if err != nil {
		panic(err)
	}
	all := map[string]template.HTML{}
	for _, name := range names {
		b, err := iconFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		//nolint:gosec // a file of ours
		all[strings.TrimSuffix(path.Base(name), ".svg")] = template.HTML(
			`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">` + string(b) + `</svg>`)
	}
	return all
}

// icon returns an icon for a template. For an unknown name, it returns an error, so that no page lacks an icon.
func icon(name string) (template.HTML, error) {
	found := icons()[name]
	if found == "" {
		return "", &fs.PathError{Op: "icon", Path: name, Err: fs.ErrNotExist}
	}
	return found, nil
}
