package core

import (
	"errors"
	"testing"
)

// TestDeviceRegistration tests each row of the specification's table: registering and unregistering in each state.
func TestDeviceRegistration(t *testing.T) {
	const was, now = Instant(1000), Instant(2000)
	for _, tt := range []struct {
		name                               string
		representative, registered, unpair bool
		register                           error
	}{
		{"not registered", false, false, false, nil},
		{"registered", false, true, false, ErrRegistered},
		{"representative", true, false, false, ErrRepresentative},
		{"representative and registered", true, true, false, ErrRepresentative},
		{"unpaired, not registered", false, false, true, nil},
		{"unpaired, registered", false, true, true, ErrRegistered},
		{"unpaired, representative", true, false, true, ErrRepresentative},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Device{ID: "d", OwnerID: "o", Name: "n", Representative: tt.representative, Registered: tt.registered}
			if tt.registered {
				d.RegisteredAt = was
			}
			if tt.unpair {
				d.UnpairedAt = was
			}
			before, after := d, d
			err := after.Register(now)
			want := before
			if tt.register == nil {
				want.Registered, want.RegisteredAt = true, now
			}
			if !errors.Is(err, tt.register) || after != want {
				t.Errorf("register: %v, %+v, want %+v", err, after, want)
			}
			after, want = before, before
			want.Registered, want.RegisteredAt = false, 0
			if changed := after.Unregister(); changed != tt.registered || after != want {
				t.Errorf("unregister: %v, %+v, want %+v", changed, after, want)
			}
		})
	}
}

func TestDeviceInput(t *testing.T) {
	p := func(s string) *string { return &s }
	yes, agent := true, NewID()
	for _, tt := range []struct {
		name  string
		in    DeviceInput
		field string
	}{
		{"name", DeviceInput{Name: p(" Lamp ")}, ""},
		{"all", DeviceInput{Name: p("Lamp"), AgentID: &agent, Representative: &yes}, ""},
		{"no agent", DeviceInput{Name: p("Lamp"), AgentID: p("")}, ""},
		{"no name", DeviceInput{}, "name"},
		{"blank name", DeviceInput{Name: p("  ")}, "name"},
		{"control", DeviceInput{Name: p("a\x07b")}, "name"},
		{"agent", DeviceInput{Name: p("Lamp"), AgentID: p("7")}, "agent_id"},
	} {
		d, err := NewDevice("o", tt.in, 5)
		refused(t, tt.name, err, tt.field)
		if err == nil && (d.Name != "Lamp" || d.Registered || d.UnpairedAt != 0 || d.CreatedAt != 5) {
			t.Errorf("%s: %+v", tt.name, d)
		}
	}
}

func TestUnpair(t *testing.T) {
	d := Device{Name: "Lamp", Registered: true, RegisteredAt: 1}
	if err := d.Unpair(7); err != nil || d.UnpairedAt != 7 || !d.Registered {
		t.Errorf("%v %+v", err, d)
	}
	if err := d.Unpair(8); !errors.Is(err, ErrNotFound) || d.UnpairedAt != 7 {
		t.Errorf("again: %v %+v", err, d)
	}
	if err := d.Change(DeviceInput{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("change of an unpaired one: %v", err)
	}
}

func TestAgentInput(t *testing.T) {
	p := func(s string) *string { return &s }
	if a, err := NewAgent("o", AgentInput{Name: p("A"), Version: p("1.2")},
		3); err != nil || a.Version != "1.2" || a.CreatedAt != 3 {
		t.Errorf("%+v %v", a, err)
	}
	_, err := NewAgent("o", AgentInput{}, 3)
	refused(t, "agent", err, "name")
	_, err = NewAgent("o", AgentInput{Name: p("A"), Version: p("1\n2")}, 3)
	refused(t, "agent", err, "version")
}
