package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"newsletterd/core"
	"newsletterd/store"
)

// String returns a flag with one value.
func String(name, usage string) Flag { return &StringFlag{Name: name, Usage: usage} }

// Strings returns a flag that can be repeated.
func Strings(name, usage string) Flag { return &urfave.StringSliceFlag{Name: name, Usage: usage} }

// Bool returns a switch that can also be set to false, such as --first-party=false.
func Bool(name, usage string) Flag {
	return &urfave.BoolFlag{Name: name, Usage: usage, DisableDefaultText: true}
}

// JSON returns a flag that takes a JSON value in the format of the API, or @FILE to read it from a file.
func JSON(name, usage string) Flag {
	return &StringFlag{Name: name, Usage: usage + ", as `JSON` in the API's format, or @FILE"}
}

// GivenJSON returns the value of a JSON flag, or nil if it wasn't given.
func GivenJSON[T any](c *Context, flag string) (*T, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	text := []byte(c.String(flag))
	if name, ok := strings.CutPrefix(c.String(flag), "@"); ok {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	v, d := new(T), json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, UsageErrorf(c, "--%s %s", flag, jsonFault(err))
	}
	if d.More() {
		return nil, UsageErrorf(c, "--%s has text after the JSON value. Remove it", flag)
	}
	return v, nil
}

// jsonFault describes an error in a JSON value without terms from Go.
func jsonFault(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("has a JSON %s where %s needs another type", wrong.Value, cmp.Or(wrong.Field, "the value"))
	}
	if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "has an unknown field " + unknown
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "is incomplete JSON"
	}
	return "is invalid JSON: " + err.Error()
}

// Given returns the value of a flag, or nil if it wasn't given, which leaves the field unchanged.
func Given(c *Context, flag string) *string {
	if !c.IsSet(flag) {
		return nil
	}
	v := c.String(flag)
	return &v
}

// GivenEmail parses the address in --email.
func GivenEmail(c *Context) (core.Email, error) { return AddressIn(c, "email", c.String("email")) }

// AddressIn parses address, the value of a flag. Its error names the flag.
func AddressIn(c *Context, flag, address string) (core.Email, error) {
	email, err := core.ParseEmail(address)
	if err != nil {
		return "", UsageErrorf(c, "--%s: %q is not a valid email address", flag, address)
	}
	return email, nil
}

// GivenBool is like Given, for a switch.
func GivenBool(c *Context, flag string) *bool {
	if !c.IsSet(flag) {
		return nil
	}
	v := c.Bool(flag)
	return &v
}

// GivenList is like Given, for a repeatable flag. A single empty value clears the field.
func GivenList(c *Context, flag string) *[]string {
	if !c.IsSet(flag) {
		return nil
	}
	v := []string{}
	for _, s := range c.StringSlice(flag) {
		if s != "" {
			v = append(v, s)
		}
	}
	return &v
}

// GivenWords is like Given, for a flag with words separated by spaces, such as scopes.
func GivenWords(c *Context, flag string) *[]string {
	if !c.IsSet(flag) {
		return nil
	}
	v := strings.Fields(c.String(flag))
	return &v
}

// GivenInstant parses the RFC 3339 time in a flag. If the flag isn't set, it returns 0.
func GivenInstant(c *Context, flag string) (core.Instant, error) {
	if c.String(flag) == "" {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339, c.String(flag))
	if err != nil {
		return 0, UsageErrorf(c, "--%s: %q is not a valid time. Use the form 2026-12-24T08:00:00Z", flag,
			c.String(flag))
	}
	return core.At(at), nil
}

// JSONWanted reports whether --json was given at any level.
func JSONWanted(c *Context) bool {
	for _, at := range c.Lineage() {
		if at.Bool("json") {
			return true
		}
	}
	return false
}

// Need returns an error that names all the flags that weren't given.
func Need(c *Context, flags ...string) error {
	var missing []string
	for _, f := range flags {
		if strings.TrimSpace(c.String(f)) == "" {
			missing = append(missing, "--"+f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return UsageError(c, areNeeded(missing...))
}

func areNeeded(flags ...string) string {
	verb := " is missing"
	if len(flags) > 1 {
		verb = " are missing"
	}
	return strings.Join(flags, ", ") + verb
}

// Missing adds the noun and id of the missing record to a NotFound error. It returns other errors unchanged.
func Missing(err error, noun, id string) error {
	if errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("%s %s not found", noun, id)
	}
	return err
}

// TenantOf returns the tenant that --tenant names. Without the flag, all is true. For an unknown tenant it returns an
// error, because an empty result would look like a tenant without records.
func TenantOf(c *Context, s *store.Store) (ids []string, all bool, err error) {
	id := c.String("tenant")
	if id == "" {
		return nil, true, nil
	}
	if _, err := s.Tenant(c.Context, id); err != nil {
		return nil, false, Missing(err, "tenant", id)
	}
	return []string{id}, false, nil
}

// KnownList returns an error if a flag names a list that does not exist.
func KnownList(c *Context, s *store.Store, flag string) error {
	id := c.String(flag)
	if id == "" {
		return nil
	}
	_, err := s.List(c.Context, id)
	return Missing(err, "list", id)
}

// Limit returns a flag that limits the number of records listed. LimitOf reads it.
func Limit(usage string, value int) Flag {
	return &IntFlag{Name: "limit", Usage: usage, Value: value}
}

// LimitOf returns the value of --limit.
func LimitOf(c *Context) (int, error) {
	n := c.Int("limit")
	if n < 1 {
		return 0, UsageError(c, "--limit must be at least 1")
	}
	return n, nil
}
