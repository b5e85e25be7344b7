package replica

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// note is what a machine keeps in a file next to the database: its name, where the database was kept last, and of which
// transaction the database file is when there is no -wal, as long as the file is the same and no one has written to it.
type note struct {
	Node       string `json:"node"`
	Generation uint64 `json:"generation"`
	TXID       uint64 `json:"txid"`
	Pages      uint32 `json:"pages"`
	File       mark   `json:"file"`
	URL        string `json:"url"`              // Name of the replica that this is about
	Log        string `json:"log"`              // name of its log
	Confirmed  uint64 `json:"confirmed"`        // the log had this transaction while this machine held the lease
	Seen       string `json:"seen,omitempty"`   // Name of one in which something was kept when this machine waited for it
	Others     uint64 `json:"others,omitempty"` // the latest generation of another machine that this one has waited for
}

// served reports whether no machine can have served after the one of the note did: before is the holder of the lease
// before it was taken again.
func (n note) served(before holder) bool {
	return before.Node == n.Node && before.Generation <= n.Generation
}

// mark tells a file from each other one and from what it was before: any write to it moves Changed.
type mark struct {
	Size    int64  `json:"size"`
	Inode   uint64 `json:"inode"`
	Changed int64  `json:"changed"` // status change, in nanoseconds
}

func notePath(path string) string { return path + ".replica" }

// Noted reports whether this machine has a note next to a database path: it kept the file in a replica, or waited for
// one.
func Noted(path string) bool {
	_, err := os.Stat(notePath(path))
	return err == nil
}

// readNote returns the zero value where there is none.
func readNote(path string) (n note, err error) {
	b, err := os.ReadFile(notePath(path))
	if errors.Is(err, os.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		return n, fmt.Errorf("%s: %w", notePath(path), err)
	}
	return n, nil
}

// writeNote replaces the note, so that a kill leaves the old one or the new one.
func writeNote(path string, n note) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	tmp := notePath(path) + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, notePath(path))
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	return err
}

// placeOf returns a name of where the database file lies, on the machine as it has been running since its last start. A
// copy of a disk, or of a whole machine, has another one, while the note next to the file is the same.
func placeOf(path string) string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // only Linux has it
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s", boot, host, folderOf(path), filepath.Base(path)))
	return hex.EncodeToString(sum[:8])
}
