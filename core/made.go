package core

import "cmp"

// Made are what a user keeps that outlives the user's sessions, but for what is disabled: the user has created it, or
// changed its secret, its addresses or what it may do.
type Made struct {
	Clients   []Client
	Endpoints []Endpoint // also those that clients of the user keep
}

// Names returns the names of all, an address where an endpoint has no name.
func (m *Made) Names() (all []string) {
	for i := range m.Clients {
		all = append(all, m.Clients[i].Name)
	}
	for i := range m.Endpoints {
		all = append(all, cmp.Or(m.Endpoints[i].Name, m.Endpoints[i].URL))
	}
	return all
}

// Only returns what the rules let through.
func (m *Made) Only(client func(*Client) bool, endpoint func(*Endpoint) bool) (only, others Made) {
	for i := range m.Clients {
		to := &others
		if client(&m.Clients[i]) {
			to = &only
		}
		to.Clients = append(to.Clients, m.Clients[i])
	}
	for i := range m.Endpoints {
		to := &others
		if endpoint(&m.Endpoints[i]) {
			to = &only
		}
		to.Endpoints = append(to.Endpoints, m.Endpoints[i])
	}
	return only, others
}
