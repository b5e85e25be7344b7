// Package identity serves accounts, sign-in and OAuth: the API for users and clients, the OpenID provider, and the
// pages for people with an account.
//
//	room.go                                  Room: dependencies of the endpoints and pages
//	account.go                               the API for accounts: registration, profile, password, sign-out
//	oauth.go                                 grants and the tokens that they return; the keys that verify tokens
//	forms.go                                 forms that only the OpenAPI documents use
//	provider.go                              discovery, userinfo, revocation, introspection
//	clients.go clients_made.go               OAuth clients; a user's clients when the user's sessions end
//	users.go invitations.go signingkeys.go   accounts and teams, invitations, token signing keys
//	authorize.go login.go register_page.go   the authorization endpoint; sign-in, consent, sign-out, registration
//	twostep.go qr.go passkeys.go passkey.js proof.go   two-factor authentication; QR codes; passkeys;
//	                                         reauthentication
//	password.go accountpage.go setup.go      pages that account emails link to; the account page; the first
//	                                         administrator
//
// No response reveals who has an account. A GET of a page changes nothing, since scanners follow the links in emails.
// Changes require a button.
package identity
