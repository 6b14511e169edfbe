// Command etcdctl37 is the real etcdctl 3.7, one of the clients that kvist must serve.
package main

import "go.etcd.io/etcd/etcdctl/v3/ctlv3"

func main() {
	ctlv3.MustStart()
}
