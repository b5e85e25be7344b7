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

// note is stored in a file next to the database. It holds the name of this machine, the last place where the database
// was kept, and the last transaction in the database file if there is no -wal. The transaction is valid as long as the
// file has not been replaced or changed.
type note struct {
	Node       string `json:"node"`
	Generation uint64 `json:"generation"`
	TXID       uint64 `json:"txid"`
	Pages      uint32 `json:"pages"`
	File       mark   `json:"file"`
	URL        string `json:"url"`              // name of the replica that the note is about
	Log        string `json:"log"`              // name of its log
	Confirmed  uint64 `json:"confirmed"`        // last transaction that the log had while this machine held the lease
	Seen       string `json:"seen,omitempty"`   // name of a replica that was in use when this machine waited for it
	Others     uint64 `json:"others,omitempty"` // latest generation of another machine that this one has waited for
}

// served reports whether no other machine can have served after the note's machine. before is the previous holder of
// the lease.
func (n note) served(before holder) bool {
	return before.Node == n.Node && before.Generation <= n.Generation
}

// mark identifies a file and its content: any write to the file changes Changed.
type mark struct {
	Size    int64  `json:"size"`
	Inode   uint64 `json:"inode"`
	Changed int64  `json:"changed"` // time of the last status change, in nanoseconds
}

func notePath(path string) string { return path + ".replica" }

// Noted reports whether there is a note next to the database at path. A note means that this machine kept the file in a
// replica or waited for one.
func Noted(path string) bool {
	_, err := os.Stat(notePath(path))
	return err == nil
}

// readNote returns the note, or the zero value if there is none.
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

// writeNote replaces the note atomically: after a kill, the file contains either the old note or the new one.
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

// placeOf returns a name for the location of the database file during the current boot of the machine. A copy of a disk
// or of a machine has a different place, but the same note next to the file.
func placeOf(path string) string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // only Linux has it
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s", boot, host, folderOf(path), filepath.Base(path)))
	return hex.EncodeToString(sum[:8])
}
