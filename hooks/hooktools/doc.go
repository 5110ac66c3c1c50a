// Package hooktools implements the hook tools: their names, arguments, help and behaviour. A tool accesses its hook only
// through a Context.
//
// In a hook's PATH the tools are symlinks, created by Install, to the small binary cmd/hook-tool. It sends its arguments
// to the unit agent with the protocol of package hooks/tool, where package hooks calls Run with the hook's context. The
// scripts in hooks/testdata test the tools.
package hooktools
