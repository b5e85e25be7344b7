package replica

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"newsletterd/store/replica/objects"
)

// CopyOptions say what Copy restores. URL and To are needed.
type CopyOptions struct {
	URL string
	Env func(string) string // is asked for the keys to the bucket
	To  string              // the file to write, which must not exist
	At  time.Time           // restores what was there just before this instant; zero: the newest
	// ToGap restores what comes before a gap in the log, or a file of it that is damaged. Without it a gap is an error,
	// ErrGap.
	ToGap bool
}

// Copied is what Copy has restored.
type Copied struct {
	TXID uint64
	At   time.Time // of the last transaction in it, by the clock of the machine that wrote it
	Gap  error     // ErrGap: what comes after was left out; nil: nothing was
	// Damaged is an ErrGap that says which file is damaged; where Gap is nil, others have what it should have.
	Damaged error
}

// Copy restores the database into a new file of mode 0600. It needs no lease and changes nothing in the bucket. It
// returns ErrNothing where the bucket has no database, or none as old as At, and ErrGap.
func Copy(ctx context.Context, o CopyOptions) (c Copied, err error) {
	bucket, err := objects.Open(o.URL, o.Env)
	if err != nil {
		return c, err
	}
	l := logFiles{bucket: bucket}
	if _, least, err := holderOf(ctx, bucket); err == nil { // a lock object that can't be read says nothing
		l.least = least
	}
	for try := 0; ; try++ {
		c, err = l.copyOnce(ctx, o)
		// The log was compacted, and what it was made of removed, while it was read.
		if !errors.Is(err, fs.ErrNotExist) || try == 2 {
			return c, err
		}
	}
}

func (l logFiles) copyOnce(ctx context.Context, o CopyOptions) (c Copied, err error) {
	got, err := l.restoreAround(ctx, o.To, 0, o.At, o.ToGap)
	if err != nil {
		return c, err
	}
	h, err := l.header(ctx, got.end)
	if err != nil {
		return c, errors.Join(err, os.Remove(o.To))
	}
	return Copied{TXID: got.end.max, At: time.UnixMilli(h.Timestamp), Gap: got.gap, Damaged: got.damaged}, nil
}
