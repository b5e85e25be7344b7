package exports

import (
	"archive/zip"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"newsletterd/core"
)

// maxPicture is the maximum size of a picture in an archive, in bytes.
const maxPicture = 10 << 20

var pictureEndings = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}

// notePicture adds an entry that is a picture by its name. It reports whether it is a picture.
func (e *Export) notePicture(file *zip.File) bool {
	name := entryName(file)
	if !slices.Contains(pictureEndings, strings.ToLower(path.Ext(name))) {
		return false
	}
	base := path.Base(name)
	e.pictures[base] = append(e.pictures[base], file)
	return true
}

func entryName(file *zip.File) string { return strings.ReplaceAll(file.Name, `\`, "/") }

// Picture returns the data of the picture that a post shows from a relative address, or nil if the archive has no such
// picture, several, or one with more than room bytes. If the archive is damaged, it returns a core.Invalid error.
func (e *Export) Picture(address string, room int64) ([]byte, error) {
	found := e.picture(address)
	if found == nil || found.UncompressedSize64 > uint64(min(max(room, 0), maxPicture)) {
		return nil, nil
	}
	r, err := openEntry(found)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// HasPicture reports whether Picture finds an address in the archive.
func (e *Export) HasPicture(address string) bool { return e.picture(address) != nil }

// picture returns the only entry that can be the picture at a relative address, or nil.
func (e *Export) picture(address string) (found *zip.File) {
	if !core.IsRelative(address) {
		return nil
	}
	u, _ := url.Parse(address) // IsRelative has parsed it
	name := strings.TrimPrefix(path.Clean("/"+u.Path), "/")
	for _, file := range e.pictures[path.Base(name)] {
		if !strings.HasSuffix("/"+strings.TrimPrefix(entryName(file), "/"), "/"+name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = file
	}
	return found
}
