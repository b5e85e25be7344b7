package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Remedy suggests how to fix a file system error or a full disk. It returns an empty string if it has no suggestion.
// full is true if the database reported a full disk.
func Remedy(err error, full bool) string {
	path := ""
	if fault, ok := errors.AsType[*fs.PathError](err); ok && fault.Path != "" {
		path, _ = filepath.Abs(fault.Path)
	}
	switch {
	case full, errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "The disk or this user's quota is full. Free some space, then try again."
	case path == "":
		return ""
	case errors.Is(err, fs.ErrNotExist):
		if folder := missingFolder(path); folder != "" {
			return fmt.Sprintf("The folder %s doesn't exist. Create it, or correct the path.", folder)
		}
		return fmt.Sprintf("The file %s doesn't exist. Correct the path, or create the file.", path)
	case errors.Is(err, fs.ErrExist):
		return fmt.Sprintf("The file %s already exists. Name a new file, or move this one.", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("This user can't access %s. Run the command as the owner of the file, or with sudo.", path)
	case errors.Is(err, syscall.EROFS):
		return fmt.Sprintf("%s is on a file system that is mounted read-only.", path)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Sprintf("%s is a folder. Name a file.", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Sprintf("A folder in the path %s is a file. Correct the path.", path)
	}
	return ""
}

// missingFolder returns the topmost folder above path that does not exist. If all exist, it returns an empty string.
func missingFolder(path string) (missing string) {
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = folder
	}
}
