// Package auth proves who a caller is: passwords, tokens, signing keys, signatures. It is the OAuth 2.0 and OpenID
// Connect provider, and knows no HTTP type: handlers give it values and write what it returns.
//
// # Parts
//
//	provider.go     Provider and its Config; the generation that makes cached callers stale
//	lifetimes.go    how long what is issued is good for
//	grant.go        the grants of the token endpoint; passwords are checked and throttled
//	refresh.go      the refresh grant: rotation, grace, replay
//	code.go authorize.go claims_request.go pkce.go hint.go   the code flow
//	signin.go prove.go logout.go                             browsers that sign in, prove it again, and out
//	secondfactor.go totp.go passkey.go                       authenticator apps, recovery codes, passkeys
//	introspect.go userinfo.go discovery.go                   what relying parties and resource servers ask
//	client_auth.go clients.go   how a client authenticates: none, Basic, post; clients remembered
//	origin.go       which sites' scripts may call the endpoints of relying parties
//	scope.go        the scopes that are given: those requested, cut to the client's and to what roles allow
//	token.go claims.go   access and id tokens: claims, signing, verifying
//	bearer.go       from an access token to core.Caller; the cache of verified tokens
//	keys.go jwks.go rotate.go   signing keys, the key set, their rotation
//	password.go common_passwords.go   argon2id, one hash per core; rules; the commonest passwords
//	account.go email_change.go   register, verify, forgot, reset, claim, another address, log out; mailed tokens
//	login_limiter.go   failed logins of remote addresses, in bounded memory
//	invitations.go setup.go   invitations to a role; the link by which the first operator creates an account
//	senderdomain.go   the TXT record that proves a sender domain
//	signature.go    webhooks signed and verified (timestamp, nonce, body)
//	seal.go unsubscribe.go view.go   tokens for which nothing is stored
//	errors.go       the error codes of RFC 6749
//
// # How a request becomes a caller
//
//	password grant ─┐                        ┌─ access token ── Bearer ── core.Caller, read again with each generation
//	code grant ─────┼─ core.Family ─── issue ┼─ id token
//	client grant ───┤  (one sign-in)         └─ refresh token ── refresh grant ── issue
//	OwnToken ───────┘
//
// # Invariants
//
//   - A token is never worth more than its family: what ends the family (a logout, a new password, a replayed code or
//     refresh token) ends all its tokens.
//   - The scopes of a caller are those of the token, cut to what its roles and its client allow at that moment.
//   - The database holds hashes of tokens and sealed values, and nothing by which its reader could redeem a token or
//     sign one: private signing keys are sealed too.
//   - A redirect goes only to a URI that is registered for the client.
//
// The decisions stand in docs/decisions, 0240 to 0250 and 0002 to 0004.
//
// # Where which section is
//
// What MUST be, by the section that says so, with the tests that hold it. Tests without a name in front are of this
// package; "cmd" and "handlers" stand for theirs, a path for a scenario of testdata/api. TestDocNamesTests looks each
// of them up.
//
//	RFC 6749  2.3.1   Basic and post, not both          client_auth.go  TestBasicAuth, TestRefreshIsBoundToItsClient
//	          3.1     parameters once, others ignored   authorize.go    TestParseAuthorization
//	          3.1.2   redirect URI absolute, registered authorize.go    TestParseAuthorization, FuzzParseAuthorization
//	          3.1.2.4 never redirect to one that isn't  authorize.go    TestParseAuthorization, oidc/authorize-errors.txt
//	          3.3     scope; in the answer if it differ scope.go        TestGrantScopes, TestValidScopeText
//	          4.1.2   code short-lived, used once       code.go         TestCodeReuseRevokes,
//	                                                                    TestCodeInParallelIsGoodOnce
//	          4.1.2.1 errors and state back             authorize.go    TestAuthorizeAnswers, oidc/authorize-errors.txt
//	          4.1.3   code bound to client and URI      code.go         TestCodeIsBound
//	          4.3     password                          grant.go        TestPasswordGrant, TestPasswordGrantRefusals
//	          4.4     client_credentials                grant.go        TestCallerOfClientIsHeldToItsTenant
//	          5.1     answers, never kept               token.go        handlers TestTokenAnswersAreNotKept,
//	                                                                    cmd TestParallelRefreshes
//	          5.2     errors                            errors.go       auth/login.txt, oidc/flow.txt
//	          6       refresh bound to its client       refresh.go      TestRefreshRotates, TestRefreshScopes,
//	                                                                    TestRefreshIsBoundToItsClient
//	          10.10   tokens can't be guessed           core/token.go   256 random bits
//	          10.12   cross-site requests               handlers        oidc/pages.txt
//	          10.13   no framing                        handlers        handlers TestPageHeaders
//	          10.15   no open redirect                  authorize.go    TestParseAuthorization,
//	                                                                    handlers TestLoginLeadsNowhereElse
//	RFC 6750  2       header, or form, not both         handlers        oidc/provider.txt
//	          3, 3.1  challenges                        handlers        cmd TestForgedTokens, TestForgedAccessTokens
//	RFC 7009  2.1     own client's tokens only          introspect.go   TestRevokeAndIntrospect
//	          2.2     unknown tokens are no error       introspect.go   TestRevokeAndIntrospect
//	RFC 7515  4.1.11  crit                              token.go        TestCriticalHeader;  A.3: TestJWSVector
//	RFC 7517  4, 5    the key set                       jwks.go         TestPublicKeyVectors, TestKeySetVerifiesTokens
//	RFC 7636  4.1-4.3 verifier and challenge            pkce.go         TestVerifier, TestParseAuthorization
//	          4.4.1   challenge missing: invalid_request authorize.go   TestParseAuthorization
//	          4.6     compared at the token endpoint    pkce.go         TestVerifier, TestCodeIsBound
//	RFC 7638  3       thumbprints as kid                keys.go         TestPublicKeyVectors
//	RFC 7662  2.1     callers authenticate              introspect.go   TestRevokeAndIntrospect
//	          2.2     active, and no more where false   introspect.go   TestRevokeAndIntrospect,
//	                                                                    TestIntrospectionStaysWithinTheTenant
//	RFC 8252  7.3     any port on loopback              authorize.go    TestParseAuthorization,
//	                                                                    TestRegisteredLoopbackPortIsForPublicClients
//	RFC 8414  2, 3    metadata, and where               discovery.go    TestDiscoveryNamesOnlyTheIssuer,
//	                                                                    oidc/provider.txt
//	RFC 8725  3.1     algorithm pinned to a key         token.go        TestForgedAccessTokens
//	          3.2     deterministic ECDSA               keys.go         TestSign
//	          3.8, 3.9, 3.11  issuer, audience, typ     token.go        TestForgedAccessTokens, TestClaims
//	RFC 9068  2, 4    access tokens as JWT              claims.go       TestClaims, TestForgedAccessTokens
//	RFC 9106          argon2id                          password.go     TestArgon2Vector
//	RFC 9207  2       iss in every answer               code.go         TestCodeGrant, TestAuthorizeAnswers
//	RFC 9700  2.1     exact redirect URIs               authorize.go    TestParseAuthorization
//	          2.1.1   PKCE, S256                        authorize.go    TestParseAuthorization, TestCodeIsBound
//	          4.8.2   no verifier without a challenge   pkce.go         TestVerifier
//	          4.14.2  refresh tokens rotate             refresh.go      TestRefreshReuse, TestRefreshInParallel,
//	                                                                    cmd TestParallelRefreshes
//
//	OpenID Connect Core
//	          2, 3.1.3.6  id tokens, at_hash            token.go        TestClaims, TestAtHash, TestCodeGrant,
//	                                                                    cmd TestRelyingParty
//	          3.1.2.1 GET and POST; prompt, max_age     authorize.go    TestParseAuthorization, TestNext,
//	                                                                    cmd TestConformance
//	          3.1.2.3 login again when asked for        authorize.go    TestNext, cmd TestConformance
//	          3.1.2.4 consent before any claim is given authorize.go    TestNext, TestAuthorizeAnswers,
//	                                                                    TestAdminIsNeverGivenUnasked
//	          3.1.2.6 login_required, consent_required  authorize.go    TestNext
//	          3.1.3.2 the token request                 code.go         TestCodeIsBound
//	          5.3, 5.4 userinfo, by scope               userinfo.go     oidc/provider.txt, cmd TestConformance
//	          6       request objects: not supported    authorize.go    TestParseAuthorization, cmd TestConformance
//	          10.1.1  keys rotate                       rotate.go       TestKeyRotation,
//	                                                                    TestKeyOutlivesTokensOfTheCommandLine
//	          11      offline_access                    code.go         TestRefreshTokenIsGivenByRegistrationOrScope
//	          12.2    refreshed id tokens               refresh.go      TestRefreshTokenIsGivenByRegistrationOrScope
//	          15.1    RS256                             token.go        TestIDTokenAlgorithmIsTheClients
//	OpenID Connect Discovery  3, 4                      discovery.go    cmd TestConformance, cmd TestReverseProxy
//	RP-Initiated Logout  2, 3                           logout.go       TestRPLogout, cmd TestConformance
//	Form Post Response Mode  2                          handlers        cmd TestBrowser
//
// # Deviations
//
//   - RFC 6749 section 4.3: the password grant is offered, though RFC 9700 section 2.4 says it must not be:
//     first-party clients log in by it. It has an endpoint of its own, /auth/login, and is not taken at the token
//     endpoint.
//   - RFC 6749 section 5.2 knows no 429 and 503 at the token endpoint: throttled and busy requests get rate_limited
//     and temporarily_unavailable with Retry-After.
//   - RFC 9700 section 4.14.2: a used refresh token is no replay within the grace (10 s) while its successor is
//     unused. refresh_grace = 0 is strict.
//   - OpenID Connect Core section 3.1.2.1: request objects are refused by request_not_supported, as discovery says.
//     Section 5.5.1: a value asked for of name or email is no condition: the claim has the value that there is.
//   - OpenID Connect Core section 11: a refresh token is given without offline_access to clients registered for the
//     refresh grant. It ends when the user signs out of the browser in which it was given; with offline_access it
//     doesn't.
//   - RFC 7009 section 2: revoking an access token ends the whole sign-in, its refresh token included. So an access
//     token needs no list of its own.
//   - RFC 7636: a client for which an operator has switched require_pkce off may leave the challenge out. That is for
//     confidential clients only.
//   - An Authorization header of another scheme than Basic is no try to authenticate the client: browsers' helpers
//     send a stale bearer token along with a refresh.
package auth
