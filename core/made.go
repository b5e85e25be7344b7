package core

import "cmp"

// Made holds the enabled clients and endpoints that a user created, or whose secret, addresses or permissions the user
// changed. They outlast the user's sessions.
type Made struct {
	Clients   []Client
	Endpoints []Endpoint // including those kept by the user's clients
}

// Names returns the names of all clients and endpoints. An endpoint without a name is listed by its URL.
func (m *Made) Names() (all []string) {
	for i := range m.Clients {
		all = append(all, m.Clients[i].Name)
	}
	for i := range m.Endpoints {
		all = append(all, cmp.Or(m.Endpoints[i].Name, m.Endpoints[i].URL))
	}
	return all
}

// Only splits m in two: the clients and endpoints for which the given functions return true, and all others.
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
