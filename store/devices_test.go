package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"newsletterd/core"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

func TestOneOfManyRegistersADevice(t *testing.T) {
	s := storetest.Seed(t, nil).At(10)
	owner := s.NewCaller("o@a.co")
	d := s.NewDevice(owner.UserID, core.DeviceInput{})
	var registered, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := s.RegisterDevice(t.Context(), d.ID, owner.UserID, core.Instant(100+i))
			switch {
			case err == nil:
				registered.Add(1)
			case errors.Is(err, core.ErrRegistered):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if registered.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d registered, %d refused", registered.Load(), refused.Load())
	}
}

// TestRegistrationInTheFileIsTheRule compares the conditional UPDATE with the rule, for each state.
func TestRegistrationInTheFileIsTheRule(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	yes := true
	for _, representative := range []bool{false, true} {
		for _, registered := range []bool{false, true} {
			for _, unpaired := range []bool{false, true} {
				owner := s.NewCaller(core.Email(core.NewID() + "@a.co"))
				d := s.NewDevice(owner.UserID, core.DeviceInput{})
				if registered {
					if _, err := s.RegisterDevice(ctx, d.ID, owner.UserID, 20); err != nil {
						t.Fatal(err)
					}
				}
				if representative {
					if _, err := s.UpdateDevice(ctx, d.ID, owner.UserID,
						func(d *core.Device) error { return d.Change(core.DeviceInput{Representative: &yes}) }); err != nil {
						t.Fatal(err)
					}
				}
				if unpaired {
					if err := s.UnpairDevice(ctx, d.ID, owner.UserID, 30); err != nil {
						t.Fatal(err)
					}
				}
				before, _ := s.Device(ctx, d.ID, owner.UserID)
				if _, err := s.RegisterDevice(ctx, d.ID, "another", 40); !errors.Is(err, core.ErrNotFound) {
					t.Errorf("a stranger: %v", err)
				}
				want := before
				wantErr := want.Register(40)
				_, err := s.RegisterDevice(ctx, d.ID, owner.UserID, 40)
				if got, _ := s.Device(ctx, d.ID,
					owner.UserID); got != want || (err != nil || wantErr != nil) && !errors.Is(err, wantErr) {
					t.Errorf("register %+v: %+v %v, the rule says %+v %v", before, got, err, want, wantErr)
				}
				want.Unregister()
				if got, err := s.UnregisterDevice(ctx, d.ID, owner.UserID); err != nil || got != want {
					t.Errorf("unregister: %+v %v, the rule says %+v", got, err, want)
				}
				if _, err := s.UnregisterDevice(ctx, d.ID, "another"); !errors.Is(err, core.ErrNotFound) {
					t.Errorf("a stranger: %v", err)
				}
			}
		}
	}
}

func TestDevicesOfAnOwner(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	owner, other := s.NewCaller("o@a.co"), s.NewCaller("x@a.co")
	name, yes := "A", true
	agent, _ := core.NewAgent(owner.UserID, core.AgentInput{Name: &name}, 5)
	if err := s.AddAgent(ctx, agent); err != nil {
		t.Fatal(err)
	}
	lead := s.NewDevice(owner.UserID, core.DeviceInput{Representative: &yes, AgentID: &agent.ID})
	second, _ := core.NewDevice(owner.UserID, core.DeviceInput{Name: &name, Representative: &yes}, 10)
	if err := s.AddDevice(ctx, second); !errors.Is(err, core.ErrSecondLeader) {
		t.Errorf("a second representative: %v", err)
	}
	theirs, _ := core.NewDevice(other.UserID, core.DeviceInput{Name: &name, AgentID: &agent.ID}, 10)
	if err := s.AddDevice(ctx, theirs); core.KindOf(err) != core.NotFound {
		t.Errorf("another's agent: %v", err)
	}
	nobody, _ := core.NewDevice(core.NewID(), core.DeviceInput{Name: &name}, 10)
	if err := s.AddDevice(ctx, nobody); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("an owner who is gone: %v", err)
	}
	if err := s.DeleteAgent(ctx, agent.ID, other.UserID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("another deletes the agent: %v", err)
	}
	if err := s.DeleteAgent(ctx, agent.ID, owner.UserID); err != nil {
		t.Error(err)
	}
	if d, err := s.Device(ctx, lead.ID, owner.UserID); err != nil || d.AgentID != "" {
		t.Errorf("the agent's device: %+v %v", d, err)
	}
	if err := s.UnpairDevice(ctx, lead.ID, owner.UserID, 50); err != nil {
		t.Error(err)
	}
	if err := s.AddDevice(ctx, second); err != nil {
		t.Errorf("a representative after the first was unpaired: %v", err)
	}
	ds, err := s.Devices(ctx, owner.UserID, core.Page{Limit: 10})
	if err != nil || len(ds) != 1 || ds[0].ID != second.ID {
		t.Errorf("list: %+v %v", ds, err)
	}
	if _, err := s.Housekeeping(ctx, people.Retention{Deleted: 30}, 50+31); err != nil {
		t.Error(err)
	}
	if _, err := s.Device(ctx, lead.ID, owner.UserID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the unpaired one after its time: %v", err)
	}
}

func TestDevicesHaveALimit(t *testing.T) {
	s := storetest.Seed(t, nil).At(10)
	owner := s.NewCaller("o@a.co")
	var wg sync.WaitGroup
	var kept, refused atomic.Int32
	for range core.MaxDevices + 5 {
		wg.Go(func() {
			name := "Lamp"
			d, _ := core.NewDevice(owner.UserID, core.DeviceInput{Name: &name}, 10)
			switch err := s.AddDevice(t.Context(), d); {
			case err == nil:
				kept.Add(1)
			case errors.Is(err, core.ErrConflict):
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if kept.Load() != core.MaxDevices || refused.Load() != 5 {
		t.Errorf("%d kept, %d refused", kept.Load(), refused.Load())
	}
}
