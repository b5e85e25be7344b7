package replica

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"newsletterd/store/replica/objects"
)

// CopyOptions configures Copy. URL and To are required.
type CopyOptions struct {
	URL string
	Env func(string) string // looks up the keys to the bucket
	To  string              // file to write, which must not exist
	At  time.Time           // restores the state just before this time; zero: the newest state
	// ToGap restores the part before a gap in the log or before a damaged file. Without it, Copy returns ErrGap.
	ToGap bool
}

// Copied describes what Copy restored.
type Copied struct {
	TXID uint64
	At   time.Time // time of its last transaction, by the clock of the machine that wrote it
	Gap  error     // an ErrGap if everything after the gap was left out, otherwise nil
	// Damaged is an ErrGap that names a damaged file. If Gap is nil, other files hold the same changes.
	Damaged error
}

// Copy restores the database to a new file of mode 0600. It needs no lease and changes nothing in the bucket. It
// returns ErrNothing if the bucket has no database, or no state of it from before At. It returns ErrGap if the log has
// a gap.
func Copy(ctx context.Context, o CopyOptions) (c Copied, err error) {
	bucket, err := objects.Open(o.URL, o.Env)
	if err != nil {
		return c, err
	}
	l := logFiles{bucket: bucket}
	if _, least, err := holderOf(ctx, bucket); err == nil { // ignore an unreadable lock object
		l.least = least
	}
	for try := 0; ; try++ {
		c, err = l.copyOnce(ctx, o)
		// The log was compacted and the source files were removed while Copy read them.
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
