package mail

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

// Directory keeps each message as a file of its own instead of sending it: the transport of a fresh
// installation. The bytes are those that a server would get. Names sort by the time of writing and end with
// a hash of the Message-ID, so a resend stands beside the first copy and can be seen as one.
type Directory struct {
	dir string
	seq atomic.Uint64
}

var _ Sender = (*Directory)(nil)

// NewDirectory makes the folder (0700) if it isn't there.
func NewDirectory(dir string) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail directory: %w", err)
	}
	return &Directory{dir: dir}, nil
}

// Deliver writes envelopes until the source is done or ctx is cancelled. A fault of the disk is a
// *RouteError: no recipient is to blame.
func (d *Directory) Deliver(ctx context.Context, src *Source) error {
	for n := 0; ; n++ {
		e, ok := src.Next(ctx, true)
		if !ok {
			return nil
		}
		if !src.Commit(e) {
			src.Done(e, Outcome{})
			continue
		}
		name, err := d.Keep(e.Data, time.Now())
		if err != nil {
			src.Done(e, Outcome{})
			return &RouteError{Fault: FaultDisk, Stage: "write", Delivered: n, Err: err}
		}
		src.Done(e, Outcome{Result: Sent, Code: 250, Enhanced: "2.0.0", Text: "kept as " + name})
	}
}

// Keep writes one message and returns the name of its file. The file appears whole or not at all (written
// beside, then renamed), with mode 0600; it is not fsynced: this is no mail store.
func (d *Directory) Keep(data []byte, at time.Time) (string, error) {
	sum := sha256.Sum256(headerValue(data, "Message-Id"))
	name := fmt.Sprintf("%s-%06d-%s.eml", at.UTC().Format("20060102T150405.000000"), d.seq.Add(1), hex.EncodeToString(sum[:6]))
	f, err := os.CreateTemp(d.dir, ".part-*")
	if err != nil {
		return "", fmt.Errorf("keep message: %w", err)
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(d.dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("keep message: %w", err)
	}
	return name, nil
}

// headerValue finds a header field by its name, in any case, and returns its first line trimmed. A value that
// stands on a continuation line of its own is found too. nil where there is none.
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
