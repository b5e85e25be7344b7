package core

import (
	"errors"
	"strings"
	"testing"
)

// refused checks that err is an Invalid error on field, or nil if field is empty.
func refused(t *testing.T, what string, err error, field string) {
	t.Helper()
	var e *Error
	switch {
	case field == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case field != "" && (!errors.As(err, &e) || e.Kind != Invalid || e.Field != field):
		t.Errorf("%s: %v; it should name %s", what, err, field)
	}
}

func TestRelayRefusals(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Relay)
		field  string
	}{
		"the least": {func(*Relay) {}, ""},
		"all": {func(r *Relay) {
			r.Name, r.Username, r.Password, r.DKIMSkip = "Ours", "u", "p",
				Strings{"List-Id"}
		}, ""},
		"on this machine":        {func(r *Relay) { r.Host, r.TLS = "127.0.0.1", "none" }, ""},
		"long name":              {func(r *Relay) { r.Name = strings.Repeat("n", 61) }, "name"},
		"no host":                {func(r *Relay) { r.Host = "a b" }, "host"},
		"zone":                   {func(r *Relay) { r.Host = "fe80::1%eth0" }, "host"},
		"port":                   {func(r *Relay) { r.Port = 65536 }, "port"},
		"tls":                    {func(r *Relay) { r.TLS = "ssl" }, "tls"},
		"in the clear":           {func(r *Relay) { r.TLS = "none" }, "tls"},
		"connections":            {func(r *Relay) { r.Connections = 65 }, "connections"},
		"mails of a connection":  {func(r *Relay) { r.MailsEach = -1 }, "mails_per_connection"},
		"user without password":  {func(r *Relay) { r.Username = "u" }, "password"},
		"password without user":  {func(r *Relay) { r.Password = "p" }, "password"},
		"line end in a password": {func(r *Relay) { r.Username, r.Password = "u", "p\r\nQUIT" }, "password"},
		"header field":           {func(r *Relay) { r.DKIMSkip = Strings{"Subject:"} }, "dkim_skip"},
		"limit":                  {func(r *Relay) { r.Limits.PerDay = -1 }, "limits.per_day"},
		"period without length":  {func(r *Relay) { r.Limits.PerPeriod = 1 }, "limits.period_seconds"},
		"length without mails":   {func(r *Relay) { r.Limits.PeriodSeconds = 1 }, "limits.per_period"},
	} {
		r := Relay{Host: "Smtp.Example.org"}
		c.change(&r)
		field := c.field
		if field != "" {
			field = "relays[0]." + field
		}
		var relays Relays
		refused(t, what, relays.change([]Relay{r}), field)
	}
	var relays Relays
	refused(t, "too many", relays.change(make([]Relay, MaxRelays+1)), "relays")
}

// TestRelayKeepsItsPassword checks that a relay changed without its password keeps it only if user and host stay the
// same.
func TestRelayKeepsItsPassword(t *testing.T) {
	var relays Relays
	refused(t, "new", relays.change([]Relay{{Name: "Ours", Host: "smtp.example.org", Username: "u", Password: "p"}}),
		"")
	same := relays[0]
	same.Password, same.HasPassword = "", false
	refused(t, "the same user", relays.change([]Relay{same}), "")
	if r := relays[0]; !r.HasPassword || r.ID != same.ID || r.Label() != "Ours" {
		t.Errorf("%+v", r)
	}
	elsewhere := same
	elsewhere.Host = "smtp.example.net"
	refused(t, "another host", relays.change([]Relay{elsewhere}), "relays[0].password")
	same.Username = "another"
	refused(t, "another user", relays.change([]Relay{same}), "relays[0].password")
}

func TestProviderEventRefusals(t *testing.T) {
	for field, change := range map[string]func(*ProviderEvent){
		"":            func(e *ProviderEvent) { e.BounceType = SoftBounce },
		"event_type":  func(e *ProviderEvent) { e.Type = "exploded" },
		"message_id":  func(e *ProviderEvent) { e.MessageID = "" },
		"tenant_id":   func(e *ProviderEvent) { e.TenantID = "x" },
		"email":       func(e *ProviderEvent) { e.Email = "a@b" },
		"occurred_at": func(e *ProviderEvent) { e.OccurredAt = 0 },
		"bounce_type": func(e *ProviderEvent) { e.BounceType = "odd" },
	} {
		e := ProviderEvent{Type: "bounce", MessageID: "m", TenantID: NewID(), Email: "Ann@example.org", OccurredAt: 1}
		change(&e)
		refused(t, "event", e.Validate(), field)
	}
	long := ProviderEvent{
		Type: "bounce", MessageID: strings.Repeat("m", maxMessageID+1), Email: "a@example.org",
		OccurredAt: 1,
	}
	refused(t, "long name of a mail", long.Validate(), "message_id")
}

func TestTemplateRefusals(t *testing.T) {
	for field, in := range map[string]TemplateInput{
		"":       {BodyText: new("x"), Layout: new("frame")},
		"name":   {Name: new("a/b"), BodyText: new("x")},
		"layout": {BodyText: new("x"), Layout: new("spring")},
	} {
		if in.Name == nil {
			in.Name = new("spring")
		}
		_, err := NewTemplate("t", in, 1)
		refused(t, "template", err, field)
	}
	_, err := NewTemplate("t", TemplateInput{Name: new("spring")}, 1)
	refused(t, "no body", err, "body_html")
}

func TestFieldRefusals(t *testing.T) {
	choice := func(options ...string) Field {
		return Field{Name: "a", Label: "A", Type: FieldChoice, Options: options}
	}
	for what, c := range map[string]struct {
		field Field
		want  string
	}{
		"choice":           {choice("x", "y"), ""},
		"name":             {Field{Name: "email", Label: "A", Type: FieldText}, "name"},
		"no label":         {Field{Name: "a", Label: " ", Type: FieldText}, "label"},
		"long label":       {Field{Name: "a", Label: strings.Repeat("l", maxFieldLabel+1), Type: FieldText}, "label"},
		"text of options":  {Field{Name: "a", Label: "A", Type: FieldText, Options: Strings{"x"}}, "options"},
		"type":             {Field{Name: "a", Label: "A", Type: "date"}, "type"},
		"no options":       {choice(), "options"},
		"the same twice":   {choice("x", "x"), "options[1]"},
		"control in there": {choice("x", "y\x00"), "options[1]"},
	} {
		want := c.want
		if want != "" {
			want = "fields[0]." + want
		}
		refused(t, what, Fields{c.field}.Check(), want)
	}
	refused(t, "twice", Fields{choice("x"), choice("y")}.Check(), "fields[1].name")
	refused(t, "too many", make(Fields, MaxFields+1).Check(), "fields")
}

func TestEndpointRefusals(t *testing.T) {
	for what, c := range map[string]struct {
		in    EndpointInput
		field string
	}{
		"good": {EndpointInput{URL: new("https://a.example/hook?k=v"), Events: &[]string{EventActivated}}, ""},
		"name": {
			EndpointInput{URL: new("https://a.example/"), Name: new(strings.Repeat("n", MaxEndpointName+1))},
			"name",
		},
		"event":    {EndpointInput{URL: new("https://a.example/"), Events: &[]string{"subscription.lost"}}, "events"},
		"relative": {EndpointInput{URL: new("/hook")}, "url"},
		"scheme":   {EndpointInput{URL: new("ftp://a.example/")}, "url"},
		"user":     {EndpointInput{URL: new("https://u:p@a.example/")}, "url"},
		"fragment": {EndpointInput{URL: new("https://a.example/#")}, "url"},
		"port":     {EndpointInput{URL: new("https://a.example:65535/")}, ""},
		"too high": {EndpointInput{URL: new("https://a.example:65536/")}, "url"},
		"port 0":   {EndpointInput{URL: new("https://a.example:0/")}, "url"},
		"no port":  {EndpointInput{URL: new("https://a.example:/")}, "url"},
	} {
		var e Endpoint
		refused(t, what, e.Change(c.in, 1), c.field)
	}
	if got := MaskURL("https://a.example/hook?k=secret") + MaskURL("https://a.example/hook"); strings.Contains(got,
		"secret") {
		t.Error(got)
	}
}

// TestReportsOfTheFuture checks that a report dated in the future gets the current time. Otherwise it would take
// precedence over later reports.
func TestReportsOfTheFuture(t *testing.T) {
	now := Instant(1e12)
	s := Subscriber{MemberStatus: StatusActive}
	if s.Report(HardBounce, now+1e9, now); s.BlockAt != now {
		t.Errorf("blocked since %v", s.BlockAt)
	}
}
