package smtp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Directory is a Sender that writes each message to a file instead of sending it. New installations use it. The file
// contains exactly what a server would get. File names sort by time of writing. They end with a hash of the Message-ID,
// which shows whether a message was sent again. A Directory is safe for concurrent use.
type Directory struct {
	dir string
	seq atomic.Uint64
}

var _ Sender = (*Directory)(nil)

// NewDirectory returns a Directory that writes to the folder dir. If dir does not exist, NewDirectory creates it with
// mode 0700.
func NewDirectory(dir string) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail directory: %w", err)
	}
	return &Directory{dir: dir}, nil
}

// Deliver implements Sender. An error is a *RelayError with FaultDisk.
func (d *Directory) Deliver(ctx context.Context, src *Source) error {
	for n := 0; ; n++ {
		e, ok := src.Next(ctx, true)
		if !ok {
			return nil
		}
		if !src.Commit(e, true) {
			src.Done(e, Outcome{})
			continue
		}
		name, err := d.keep(e.Data, e.Tail, time.Now())
		if err != nil {
			src.Done(e, Outcome{})
			return &RelayError{Fault: FaultDisk, Stage: "write", Delivered: n, Err: err}
		}
		src.Done(e, Outcome{Result: Sent, Code: 250, Enhanced: "2.0.0", Text: "kept as " + name})
	}
}

// Keep writes one message to a file with mode 0600, and returns the file's name. The write is atomic, but not
// fsynced.
func (d *Directory) Keep(data []byte, at time.Time) (string, error) { return d.keep(data, nil, at) }

func (d *Directory) keep(data, tail []byte, at time.Time) (string, error) {
	sum := sha256.Sum256(headerValue(data, "Message-Id"))
	stamp := at.UTC().Format("20060102T150405.000000")
	name := fmt.Sprintf("%s-%06d-%s.eml", stamp, d.seq.Add(1), hex.EncodeToString(sum[:6]))
	f, err := os.CreateTemp(d.dir, ".part-*")
	if err != nil {
		return "", fmt.Errorf("save message: %w", err)
	}
	_, err = f.Write(data)
	if err == nil && len(tail) > 0 {
		_, err = f.Write(tail)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(d.dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("save message: %w", err)
	}
	return name, nil
}

// headerValue returns the first line of a header field's value, even if it is a continuation line. name is
// case-insensitive. If the field is missing, headerValue returns nil.
func headerValue(data []byte, name string) []byte {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if len(bytes.TrimRight(line, "\r")) == 0 {
			return nil
		}
		if len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name)) {
			v := bytes.TrimSpace(line[len(name)+1:])
			if len(v) == 0 && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
				v, _, _ = bytes.Cut(rest, []byte("\n"))
				v = bytes.TrimSpace(v)
			}
			return v
		}
		data = rest
	}
	return nil
}
