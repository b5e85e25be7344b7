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

// maxPicture is the maximum size of an image in an archive, in bytes.
const maxPicture = 10 << 20

var pictureEndings = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}

// packedPicture is an entry that is an image according to its name.
type packedPicture struct {
	back string // "/" and the name of the entry, backwards
	file *zip.File
}

// notePicture adds an entry if it is an image according to its name, and reports whether it is.
func (e *Export) notePicture(file *zip.File) bool {
	name := entryName(file)
	if !slices.Contains(pictureEndings, strings.ToLower(path.Ext(name))) {
		return false
	}
	e.pictures = append(e.pictures, packedPicture{backwards("/" + strings.TrimPrefix(name, "/")), file})
	return true
}

// sortPictures sorts the images in the order that the method picture needs: names with the same ending are next to each
// other.
func (e *Export) sortPictures() {
	slices.SortFunc(e.pictures, func(a, b packedPicture) int { return strings.Compare(a.back, b.back) })
}

// backwards returns the bytes of a name in reverse order.
func backwards(name string) string {
	b := []byte(name)
	slices.Reverse(b)
	return string(b)
}

func entryName(file *zip.File) string { return strings.ReplaceAll(file.Name, `\`, "/") }

// Picture returns the data of the image that a post shows from a relative address, or nil if the archive has no such
// image, several, or one with more than room bytes. If the archive is damaged, it returns a core.Invalid error.
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

// picture returns the only entry that can be the image at a relative address, or nil.
func (e *Export) picture(address string) *zip.File {
	if !core.IsRelative(address) {
		return nil
	}
	u, _ := url.Parse(address) // IsRelative has parsed it
	end := backwards(path.Clean("/" + u.Path))
	at, _ := slices.BinarySearchFunc(e.pictures, end, func(p packedPicture, end string) int {
		return strings.Compare(p.back, end)
	})
	is := func(at int) bool { return at < len(e.pictures) && strings.HasPrefix(e.pictures[at].back, end) }
	if !is(at) || is(at+1) {
		return nil
	}
	return e.pictures[at].file
}
