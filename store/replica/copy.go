package replica

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"newsletterd/store/replica/objects"
)

// CopyOptions say what Copy restores. URL and To are needed.
type CopyOptions struct {
	URL string
	Env func(string) string // is asked for the keys to the bucket
	To  string              // the file to write, which must not exist
	At  time.Time           // restores what was there just before this instant; zero: the newest
	// ToGap restores what comes before a gap in the log. Without it a gap is an error, ErrGap.
	ToGap bool
}

// Copied is what Copy has restored.
type Copied struct {
	TXID uint64
	At   time.Time // of the last transaction in it, by the clock of the machine that wrote it
	Gap  error     // ErrGap: what comes after was left out; nil: nothing was
}

// Copy restores the database into a new file of mode 0600. It needs no lease and changes nothing in the bucket. It
// returns ErrNothing where the bucket has no database, or none as old as At, and ErrGap.
func Copy(ctx context.Context, o CopyOptions) (c Copied, err error) {
	bucket, err := objects.Open(o.URL, o.Env)
	if err != nil {
		return c, err
	}
	for try := 0; ; try++ {
		c, err = logFiles{bucket}.copyOnce(ctx, o)
		// The log was compacted, and what it was made of removed, while it was read.
		if !errors.Is(err, fs.ErrNotExist) || try == 2 {
			return c, err
		}
	}
}

func (l logFiles) copyOnce(ctx context.Context, o CopyOptions) (c Copied, err error) {
	files, err := l.plan(ctx, 0, o.At)
	switch {
	case errors.Is(err, ErrGap) && o.ToGap && len(files) > 0:
		c.Gap = err
	case err != nil:
		return c, err
	}
	last := files[len(files)-1]
	h, err := l.header(ctx, last)
	if err != nil {
		return c, err
	}
	c.TXID, c.At = last.max, time.UnixMilli(h.Timestamp)
	return c, l.restoreFiles(ctx, o.To, files)
}
