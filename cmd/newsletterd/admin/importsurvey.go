package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/exports"
	"newsletterd/store/subscribercsv"
)

const mapUsage = "map a column: `NAME=FIELD`, where FIELD is email, status, tags, full_name or a custom field " +
	"(empty: skip the column; repeatable)"

// surveyed opens the file in --file, scans it, and returns it, rewound to the beginning, with the result of the scan.
func (p commands) surveyed(c *cli.Context, s *store.Store) (in io.ReadCloser, survey *subscribercsv.Survey, err error) {
	dir := filepath.Dir(s.Path())
	var sources []subscribercsv.Source
	f, err := p.openTwice(c.String("file"), dir)
	if err == nil {
		f, sources, err = peopleOf(c.Context, f, dir)
	}
	if err != nil {
		return nil, nil, err
	}
	var r io.Reader = f
	fi, err := f.Stat()
	if err == nil && cli.IsTerminal(p.Err) {
		bar := progressbar.NewOptions64(2*fi.Size(), progressbar.OptionSetWriter(p.Err),
			progressbar.OptionShowBytes(true), progressbar.OptionSetDescription("read"),
			progressbar.OptionClearOnFinish())
		r = io.TeeReader(f, bar)
	}
	if err == nil {
		survey, err = subscribercsv.Look(c.Context, r)
	}
	if err == nil {
		survey.Sources = sources
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, survey, nil
}

// peopleOf converts an export, or a list without a header, to a CSV file of people. It returns an unnamed file in dir
// with the source of each line, and closes f. If f is neither, it returns f.
func peopleOf(ctx context.Context, f *os.File, dir string) (*os.File, []subscribercsv.Source, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	e, err := exports.Open(ctx, f, fi.Size())
	if errors.Is(err, exports.ErrUnknown) {
		return listedPeople(f, dir)
	}
	defer f.Close()
	if err != nil {
		return nil, nil, err
	}
	if !e.HasPeople() {
		return nil, nil, core.Invalidf("", "The export contains posts but no people. To import the posts: newsletterd "+
			"admin import posts")
	}
	people := e.CSV(ctx)
	defer people.Close()
	made, err := unnamed(people, dir)
	if err != nil {
		return nil, nil, err
	}
	return made, e.Sources(), nil
}

// listedPeople is like peopleOf, for a file that is not an export.
func listedPeople(f *os.File, dir string) (*os.File, []subscribercsv.Source, error) {
	list, _, err := subscribercsv.ReadPeople(f)
	if err == nil && list == nil {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			return f, nil, nil
		}
	}
	defer f.Close()
	if err != nil {
		return nil, nil, err
	}
	made, err := unnamed(list, dir)
	if err != nil {
		return nil, nil, err
	}
	return made, list.Sources(), nil
}

// openTwice opens a file so that it can be read twice. For standard input and other streams, it opens an unnamed copy
// in dir.
func (p commands) openTwice(name, dir string) (*os.File, error) {
	in := p.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		fi, err := f.Stat()
		if err == nil && fi.Mode().IsRegular() {
			return f, nil
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		defer f.Close()
		in = f
	}
	return unnamed(in, dir)
}

// unnamed copies in to a file in dir and immediately removes the file's name.
func unnamed(in io.Reader, dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".import-*")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = io.Copy(f, in)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unasked returns the error for an import if the caller has not said what columns mean that may show who unsubscribed.
func unasked(questions []subscribercsv.Question) error {
	return fmt.Errorf("nothing was imported: %s. If the column contains the subscription status, pass --map "+
		"\"NAME=status\"; "+
		"to keep it as a custom field, --map \"NAME=FIELD\"; to skip it, --map "+
		"\"NAME=\"", subscribercsv.Asking(questions))
}
