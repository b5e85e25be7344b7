//go:build !unix

package replica

import "os"

func markOf(path string) (m mark, err error) {
	fi, err := os.Stat(path)
	if err != nil {
		return m, err
	}
	return mark{Size: fi.Size(), Changed: fi.ModTime().UnixNano()}, nil
}

// folderOf returns an empty string: this system offers no way to distinguish a folder from its copies.
func folderOf(string) string { return "" }
