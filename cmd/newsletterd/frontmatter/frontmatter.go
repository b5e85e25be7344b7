// Package frontmatter reads the front matter of a newsletter's file: TOML between lines of +++, or YAML between lines
// of ---.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"newsletterd/core"
)

// Matter holds a file's front matter: the settings of its newsletter.
type Matter struct {
	Values map[string]string
	Texts  map[string][]string // of ListKeys; never empty ones
	Lines  map[string]int      // of each key, from 1
	Polls  []core.Poll
	Body   string // the file without its front matter
	Before int    // number of lines before the body
}

// Keys lists the keys that front matter may contain.
var Keys = []string{
	"id", "list", "tenant", "subject", "preheader", "name", "from_name", "from_email", "reply_to", "language",
	"tracking", "theme", "unsubscribe_url", "archive", "utm_source", "utm_medium", "utm_campaign", "utm_term",
	"utm_content", "lists", "exclude_lists", "exclude_campaigns", "segment", "exclude_segments", "audience",
	"audience_of",
	"test_addresses", "time_zone", "attachments", "polls",
}

// ListKeys lists the keys whose value is a string or a list of strings.
var ListKeys = []string{
	"lists", "exclude_lists", "exclude_campaigns", "exclude_segments", "test_addresses", "attachments",
}

// maxHead is the maximum size of front matter in bytes. The parsing time grows quadratically with the size.
const maxHead = 4 << 10

// Read reads the front matter of a file: TOML between lines of +++, or YAML between lines of ---. For a file without
// front matter, it returns no values. Errors name the file and the line.
func Read(name, source string) (m Matter, err error) {
	source = strings.TrimPrefix(strings.ReplaceAll(source, "\r\n", "\n"), "\uFEFF")
	m = Matter{Values: map[string]string{}, Texts: map[string][]string{}, Lines: map[string]int{}, Body: source}
	fence, _, _ := strings.Cut(source, "\n")
	fence = strings.TrimRight(fence, " \t")
	if fence != "+++" && fence != "---" {
		return m, nil
	}
	lines := strings.Split(source, "\n")
	end := slices.IndexFunc(lines[1:], func(line string) bool { return strings.TrimRight(line, " \t") == fence })
	if end < 0 {
		return m, fmt.Errorf("%s:1: the front matter that starts with %s has no end. Add a line %s", name, fence, fence)
	}
	head := strings.Join(lines[1:end+1], "\n")
	if len(head) > maxHead {
		return m, fmt.Errorf("%s:1: the front matter has %d bytes; at most %d are allowed", name, len(head), maxHead)
	}
	m.Before, m.Body = end+2, strings.Join(lines[end+2:], "\n")
	values := map[string]any{}
	if fence == "+++" {
		err = tomlFault(name, toml.Unmarshal([]byte(head), &values))
	} else {
		err = yamlFault(name, yaml.Unmarshal([]byte(head), &values))
	}
	if err != nil {
		return m, err
	}
	for _, key := range slices.Sorted(keysOf(values)) {
		m.Lines[key] = lineOfKey(head, key) + 1
		if !slices.Contains(Keys, key) {
			var fault *core.Error
			errors.As(core.JudgeKeys(Keys, []string{key}), &fault)
			return m, fmt.Errorf("%s:%d: %s", name, m.Lines[key], fault.Message)
		}
		if key == "polls" {
			if m.Polls, err = pollsOf(values[key]); err != nil {
				return m, fmt.Errorf("%s:%d: %w", name, m.Lines[key], err)
			}
			continue
		}
		if slices.Contains(ListKeys, key) {
			texts, ok := textsOf(values[key])
			if !ok {
				return m, fmt.Errorf("%s:%d: %s must be a list of strings", name, m.Lines[key], key)
			}
			if len(texts) > 0 {
				m.Texts[key] = texts
			}
			continue
		}
		switch v := values[key].(type) {
		case bool:
			if key != "archive" {
				return m, fmt.Errorf("%s:%d: %s must be a string", name, m.Lines[key], key)
			}
			m.Values[key] = strconv.FormatBool(v)
			continue
		case string:
			if key == "segment" && strings.TrimSpace(v) == "" { // it would mean the whole list
				return m, fmt.Errorf("%s:%d: segment is empty. Name a segment, or remove the key", name,
					m.Lines[key])
			}
			m.Values[key] = v
		case int, int64, float64:
			m.Values[key] = fmt.Sprint(v)
		default:
			return m, fmt.Errorf("%s:%d: %s must be a string", name, m.Lines[key], key)
		}
		if key == "archive" {
			return m, fmt.Errorf("%s:%d: archive must be true or false", name, m.Lines[key])
		}
	}
	if m.Values["list"] != "" && m.Texts["lists"] != nil {
		return m, fmt.Errorf("%s:%d: list and lists are both set. Name all lists in lists", name, m.Lines["lists"])
	}
	return m, nil
}

// pollsOf converts the value of polls, in which polls have the same keys as in the API.
func pollsOf(value any) (polls []core.Poll, err error) {
	text, err := json.Marshal(value)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&polls)
	}
	if err != nil {
		return nil, errors.New("polls must be a list of polls with question, options, field, closes_at and " +
			"show_results")
	}
	return polls, nil
}

// textsOf converts a value that is a string or a list of strings.
func textsOf(value any) (texts []string, ok bool) {
	if one, is := value.(string); is {
		return []string{one}, strings.TrimSpace(one) != ""
	}
	all, ok := value.([]any)
	for _, one := range all {
		text, is := one.(string)
		if !is || strings.TrimSpace(text) == "" {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, ok
}

// bodyLine matches a line number in a warning or error about the content.
var bodyLine = regexp.MustCompile(`\bline (\d+)`)

// InFile converts the line numbers in text from lines of the body to lines of the file.
func (m *Matter) InFile(text string) string {
	return bodyLine.ReplaceAllStringFunc(text, func(place string) string {
		line, _ := strconv.Atoi(strings.TrimPrefix(place, "line "))
		return fmt.Sprintf("line %d", line+m.Before)
	})
}

// keysOf iterates over the keys of a map.
func keysOf(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// lineOfKey returns the line number of a key in front matter, starting at 1, or 1 if the key isn't found.
func lineOfKey(head, key string) int {
	is := regexp.MustCompile(`^\s*["']?` + regexp.QuoteMeta(key) + `["']?\s*[:=]`)
	for i, line := range strings.Split(head, "\n") {
		if is.MatchString(line) {
			return i + 1
		}
	}
	return 1
}

func tomlFault(name string, err error) error {
	var fault toml.ParseError
	if errors.As(err, &fault) {
		return fmt.Errorf("%s:%d: %s", name, fault.Position.Line+1, fault.Message)
	}
	return err
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func yamlFault(name string, err error) error {
	if err == nil {
		return nil
	}
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		line, _ = strconv.Atoi(text[m[2]:m[3]])
		text = text[m[1]:]
	}
	return fmt.Errorf("%s:%d: %s", name, line+1, text)
}
