// Package devices serves the devices of users, the agents that run them, and models: files that users store and share.
// Other users' objects are reported as missing.
//
//	devices.go           Room: dependencies of the endpoints; devices
//	agents.go            agents
//	models.go            models and their shares
//	upload.go uploadkeys.go download.go   their files; resumable uploads
package devices
