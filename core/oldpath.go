package core

import "strings"

// oldFolders maps programs to the folder of their posts, followed by the slug. Programs that are missing show posts at
// paths that contain more than a slug.
var oldFolders = map[string]string{"substack": "/p/", "beehiiv": "/p/", "buttondown": "/archive/", "ghost": "/"}

// OldPath returns the path at which another program shows a post, without a slash at the end. It returns an empty
// string if the path can't be known from the slug.
func OldPath(tool, slug string) string {
	folder, slug := oldFolders[tool], Slug(slug)
	if folder == "" || slug == "" {
		return ""
	}
	return folder + slug
}

// AsOldPath returns the path of a request in the form of OldPath. It returns an empty string for other paths.
func AsOldPath(path string) string {
	path = strings.TrimSuffix(path, "/")
	for _, tool := range []string{"substack", "buttondown", "ghost"} {
		if slug, ok := strings.CutPrefix(path, oldFolders[tool]); ok && !strings.Contains(slug, "/") {
			return OldPath(tool, slug)
		}
	}
	return ""
}
