package core

import "strings"

// oldFolders maps programs to the folder that precedes the slug in their posts' paths. It leaves out programs whose
// paths contain more than a slug.
var oldFolders = map[string]string{"substack": "/p/", "beehiiv": "/p/", "buttondown": "/archive/", "ghost": "/"}

// OldPath returns the path that the program named tool uses for a post, without a trailing slash. It returns an empty
// string if the slug doesn't determine the path.
func OldPath(tool, slug string) string {
	folder, slug := oldFolders[tool], Slug(slug)
	if folder == "" || slug == "" {
		return ""
	}
	return folder + slug
}

// AsOldPath converts the path of a request to the form that OldPath returns, or to an empty string if it can't be such
// a path.
func AsOldPath(path string) string {
	path = strings.TrimSuffix(path, "/")
	for _, tool := range []string{"substack", "buttondown", "ghost"} {
		if slug, ok := strings.CutPrefix(path, oldFolders[tool]); ok && !strings.Contains(slug, "/") {
			return OldPath(tool, slug)
		}
	}
	return ""
}
