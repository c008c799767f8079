// Command einmal is the gateway and its command line.
package main

import (
	"os"

	"github.com/einmal/einmal/internal/cli"
)

func main() { os.Exit(cli.Main()) }
