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

// Prompt reads answers from a person at a terminal. It stops waiting when the context ends, for example on Ctrl-C. The
// read itself can't be interrupted, and ends with the process.
type Prompt struct {
	In  io.Reader
	Err io.Writer // receives the questions
}

// File returns standard input if it is a terminal, otherwise nil.
func (p Prompt) File() *os.File {
	f, ok := p.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// Line reads a line from lines, which must read from p.In. If the context ends, it returns the context's error.
func (p Prompt) Line(ctx context.Context, lines *bufio.Reader) (string, error) {
	line, err := interruptible(ctx, func() (string, error) { return lines.ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(p.Err)
	}
	return line, err
}

// Password reads a password from the terminal without showing it. If the context ends, the terminal shows input again.
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
