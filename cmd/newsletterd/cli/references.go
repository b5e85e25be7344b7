package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// ReferenceFlag is a flag that names a record by its ID, by a prefix of its ID, or by a unique name. Before a command
// runs, Resolve replaces the value with the full ID.
type ReferenceFlag struct {
	*StringFlag
	noun people.Noun
	// byName is set if the command needs the name of the record, which may not exist yet.
	byName bool
	// Also is a special value that doesn't refer to a record and is left unchanged; empty: none.
	Also string
	// Whole reports whether a missing flag means the only tenant, even if the command doesn't require the flag. It may
	// be nil.
	Whole func(*Context) bool
}

// Reference returns a ReferenceFlag for a kind of record.
func Reference(name string, noun people.Noun, usage string, aliases ...string) ReferenceFlag {
	return ReferenceFlag{StringFlag: &StringFlag{Name: name, Aliases: aliases, Usage: usage}, noun: noun}
}

// Name returns a flag that takes the name of a record, even if the record doesn't exist yet.
func Name(name string, noun people.Noun, usage string) Flag {
	f := Reference(name, noun, usage)
	f.byName = true
	return f
}

// ID returns the flag --id, which names the record that a command is about.
func ID(noun people.Noun) Flag {
	return Reference("id", noun, string(noun)+" (`ID`, start of the ID, or name)")
}

// Tenant returns the flag --tenant, which names a tenant.
func Tenant(usage string) ReferenceFlag { return Reference("tenant", people.NounTenant, usage) }

// ChoiceFlag is a flag that accepts only certain words.
type ChoiceFlag struct {
	*StringFlag
	words []string
}

// OneOf returns a ChoiceFlag. An empty word among words allows the empty value.
func OneOf(name, usage string, words ...string) ChoiceFlag {
	return ChoiceFlag{&StringFlag{Name: name, Usage: usage}, words}
}

// ByDefault returns the flag with a default value.
func (f ChoiceFlag) ByDefault(value string) ChoiceFlag {
	f.Value = value
	return f
}

// Optional returns words with the empty value added, for OneOf.
func Optional(words []string) []string { return append([]string{""}, words...) }

// choiceListFlag is a repeatable flag that accepts only certain words.
type choiceListFlag struct {
	*urfave.StringSliceFlag
	words []string
}

// SomeOf returns a repeatable flag that accepts only certain words.
func SomeOf(name, usage string, words ...string) Flag {
	return choiceListFlag{&urfave.StringSliceFlag{Name: name, Usage: usage}, words}
}

// CheckChoices returns a usage error if a flag has a value that it doesn't accept. It also rejects an empty segment,
// which would mean the whole list.
func CheckChoices(c *Context) error {
	for _, f := range c.Command.Flags {
		var name string
		var words, values []string
		switch f := f.(type) {
		case ChoiceFlag:
			name, words, values = f.Name, f.words, []string{c.String(f.Name)}
		case choiceListFlag:
			name, words, values = f.Name, append([]string{""}, f.words...), c.StringSlice(f.Name)
		case ReferenceFlag:
			if f.noun == people.NounSegment && c.IsSet(f.Name) && strings.TrimSpace(c.String(f.Name)) == "" {
				return UsageError(c, "--"+f.Name+
					" is empty. Name a segment, or leave it out")
			}
		}
		if name == "" || !c.IsSet(name) {
			continue
		}
		for _, v := range values {
			if !slices.Contains(words, v) {
				known := slices.DeleteFunc(slices.Clone(words), func(s string) bool { return s == "" })
				return UsageErrorf(c, "--%s: %q is not valid. Use one of %s", name, v,
					strings.Join(known, ", "))
			}
		}
	}
	return nil
}

// maxCandidates is the maximum number of records listed for an ambiguous reference.
const maxCandidates = 10

// Resolve replaces the references in a command's flags with IDs. If the command needs a tenant and none is given, it
// sets --tenant to the only tenant. It resolves tenants first and lists second, because they narrow the other flags.
func Resolve(c *Context, s *store.Store, needed []string) error {
	var flags []ReferenceFlag
	for _, f := range c.Command.Flags {
		if ref, ok := f.(ReferenceFlag); ok {
			flags = append(flags, ref)
		}
	}
	slices.SortStableFunc(flags, func(a, b ReferenceFlag) int { return rank(a.noun) - rank(b.noun) })
	tenant := ""
	for _, f := range flags {
		word := strings.TrimSpace(c.String(f.Name))
		var ref people.Reference
		var err error
		switch {
		case f.Also != "" && strings.EqualFold(word, f.Also):
			continue
		case word != "":
			ref, err = f.Find(c, s, word, tenant)
		case f.noun == people.NounTenant && (slices.Contains(needed, f.Name) || f.Whole != nil && f.Whole(c)):
			ref, err = onlyTenant(c, s)
		default:
			continue
		}
		if err != nil {
			return err
		}
		switch f.noun {
		case people.NounTenant:
			tenant = ref.ID
		case people.NounList:
			tenant = ref.TenantID
		}
		value := ref.ID
		if f.byName {
			value = ref.Name
		}
		if err := c.Set(f.Name, value); err != nil {
			return err
		}
	}
	return nil
}

// rank returns the position of a noun in the order in which flags are resolved. Nouns that narrow others come first.
func rank(noun people.Noun) int {
	switch noun {
	case people.NounTenant:
		return 0
	case people.NounList:
		return 1
	}
	return 2
}

// Find looks for the record that word names. It returns a full ID unchanged, so the command itself reports whether the
// record exists.
func (f ReferenceFlag) Find(c *Context, s *store.Store, word, tenant string) (people.Reference, error) {
	if id, ok := core.ParseID(word); ok && !f.byName {
		ref := people.Reference{ID: id}
		if f.noun == people.NounList {
			l, err := s.List(c.Context, id)
			if err != nil && core.KindOf(err) != core.NotFound {
				return ref, err
			}
			ref.TenantID = l.TenantID
		}
		return ref, nil
	}
	if f.noun == people.NounUser && strings.Contains(word, "@") {
		return people.Reference{ID: word}, nil
	}
	if f.noun == people.NounEvent && onlyDigits(word) { // the row number in the printed outbox list
		return people.Reference{ID: word}, nil
	}
	found, err := s.References(c.Context, f.noun, word, tenant, maxCandidates+1)
	switch {
	case err != nil:
		return people.Reference{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return people.Reference{}, fmt.Errorf("--%s: use the full ID; %q matches %s", f.Name, word,
			Candidates(f.noun, found))
	case f.byName:
		return people.Reference{Name: word}, nil
	}
	return people.Reference{}, Missing(core.ErrNotFound, string(f.noun), word)
}

// onlyTenant returns the only tenant. If there are none or several, it returns an error that asks for the flag.
func onlyTenant(c *Context, s *store.Store) (people.Reference, error) {
	found, err := s.References(c.Context, people.NounTenant, "", "", maxCandidates+1)
	switch {
	case err != nil:
		return people.Reference{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return people.Reference{}, UsageError(c, "--tenant is missing, and there is no tenant. "+
			"Create one with newsletterd admin tenant create")
	}
	return people.Reference{}, UsageError(c, "--tenant is missing. Choose one of "+
		Candidates(people.NounTenant, found))
}

// Candidates lists records to choose from, one per line.
func Candidates(noun people.Noun, found []people.Reference) string {
	more := ""
	if len(found) > maxCandidates {
		found, more = found[:maxCandidates], "\n  …"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", Counted(len(found), string(noun)))
	if more != "" {
		b.Reset()
		fmt.Fprintf(&b, "more than %s:", Counted(len(found), string(noun)))
	}
	for _, r := range found {
		b.WriteString("\n  " + r.ID)
		if r.Name != "" {
			b.WriteString("  " + Printable(r.Name))
		}
		if r.TenantID != "" {
			b.WriteString("  (tenant " + r.TenantID + ")")
		}
	}
	return b.String() + more
}

// withoutTenant returns needed without --tenant, which Resolve can set.
func withoutTenant(needed []string) []string {
	return slices.DeleteFunc(slices.Clone(needed), func(name string) bool { return name == "tenant" })
}

func onlyDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
