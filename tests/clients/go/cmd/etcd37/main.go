// Command etcd37 is the real etcd server 3.7: the oracle that kvist's behaviour is compared with.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
