package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Prompt asks a person at a terminal. Its waits end with the context, as Ctrl-C does: then a command ends, and what it
// reads, which nothing can interrupt, ends with the process.
type Prompt struct {
	In  io.Reader
	Err io.Writer // where questions are written
}

// File returns the terminal that a person sits at; nil: standard input is none.
func (p Prompt) File() *os.File {
	f, ok := p.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// Line reads a line. lines reads In. The error is that of the context where it has ended.
func (p Prompt) Line(ctx context.Context, lines *bufio.Reader) (string, error) {
	line, err := interruptible(ctx, func() (string, error) { return lines.ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(p.Err)
	}
	return line, err
}

// Password reads a password at the terminal without showing it. Where the context ends, the terminal shows again what
// is typed.
func (p Prompt) Password(ctx context.Context) ([]byte, error) {
	fd := int(p.File().Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	b, err := interruptible(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), term.Restore(fd, before))
	}
	fmt.Fprintln(p.Err)
	return b, err
}

func interruptible[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := read()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
