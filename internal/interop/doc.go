// Package interop has no code of its own. Its tests, which carry the build tag "services", let other people's
// implementations talk to ours: the npm package smpp and Perl's Net::SMPP as codecs, as ESMEs and as message centres;
// Kannel as an ESME of the simulated message centre, and its drive_smpp as a message centre of the gateway's
// connection; tshark as a reader of everything that we write.
package interop
