package web

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Templates holds the pages in a folder. Each page consists of a file NAME.html and the shared files. A page is parsed
// when it is first shown, because parsing all pages would slow down startup and use memory that most processes don't
// need. It is safe for concurrent use.
type Templates struct {
	pages map[string]func() (*template.Template, error)
}

// NewTemplates returns the pages in a folder. shared lists the files that all pages include, starting with the layout.
func NewTemplates(files fs.FS, folder string, functions template.FuncMap, shared ...string) *Templates {
	t := &Templates{pages: map[string]func() (*template.Template, error){}}
	paths, isShared := make([]string, len(shared)), map[string]bool{}
	for i, name := range shared {
		paths[i], isShared[name] = path.Join(folder, name+".html"), true
	}
	base := sync.OnceValues(func() (*template.Template, error) {
		return template.New(path.Base(paths[0])).Funcs(functions).ParseFS(files, paths...)
	})
	found, err := fs.Glob(files, path.Join(folder, "*.html"))
	if err != nil {
		panic(err) // only for a malformed pattern
	}
	for _, file := range found {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if isShared[name] {
			continue
		}
		t.pages[name] = sync.OnceValues(func() (*template.Template, error) {
			page, err := base()
			if err == nil {
				page, err = page.Clone()
			}
			if err != nil {
				return nil, err
			}
			return page.ParseFS(files, file)
		})
	}
	return t
}

// Execute writes one block of a page. The block for the whole page has the name of the layout file. Execute returns an
// error if the page doesn't exist, or can't be parsed or executed.
func (t *Templates) Execute(w io.Writer, page, block string, data any) error {
	parse := t.pages[page]
	if parse == nil {
		return fmt.Errorf("unknown page %s", page)
	}
	parsed, err := parse()
	if err != nil {
		return err
	}
	return parsed.ExecuteTemplate(w, block, data)
}

// Check parses all pages and returns their errors.
func (t *Templates) Check() (err error) {
	for _, parse := range t.pages {
		_, fault := parse()
		err = errors.Join(err, fault)
	}
	return err
}
