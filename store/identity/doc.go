// Package identity keeps who signs in and how.
//
//	store.go                                    New
//	users.go registration.go emailchange.go firstoperator.go   users and their roles
//	passkeys.go secondfactors.go logins.go      how they prove who they are
//	browsers.go tokens.go codes.go keys.go      browsers, tokens and the keys that sign them
//	clients.go clients_made.go allowances.go    OAuth clients, who made them, what users allowed them
//	team.go invitations.go                      teams of tenants
package identity
