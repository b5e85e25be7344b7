// Package identity stores users and how they sign in.
//
//	store.go                                    New
//	users.go registration.go emailchange.go firstoperator.go   users and their roles
//	passkeys.go secondfactors.go logins.go      how users prove their identity
//	browsers.go tokens.go codes.go keys.go      browsers, tokens and the keys that sign them
//	clienttokens.go                             revoked tokens of clients that act for themselves
//	clients.go clients_made.go allowances.go    OAuth clients, their creators, and the consents of users
//	team.go invitations.go                      teams of tenants
package identity
