import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNetwork, makeAddressList, peerKeyOf } from './address-list.ts'

test('an address list contains the IPv4, IPv6 and IPv4-mapped addresses of its networks', () => {
  const list = makeAddressList(['192.0.2.0/24', '198.51.100.7', '2001:db8:1::/48', '::ffff:203.0.113.0/120'])
  for (const inside of [
    ...['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '198.51.100.7', '203.0.113.9', '::ffff:203.0.113.9'],
    ...['2001:db8:1::5', '2001:0DB8:0001:ffff::', '2001:db8:1::5%eth0'],
  ])
    assert.equal(list.contains(inside), true, inside)
  for (const outside of [
    ...['192.0.3.1', '198.51.100.8', '2001:db8:2::5', '::ffff:192.0.3.1', '203.0.114.1', '::192.0.2.1'],
    ...['', 'unknown', '192.0.2.1, 192.0.2.2', '192.0.2', '_hidden'],
  ])
    assert.equal(list.contains(outside), false, outside)
})

test('an address list covers networks that lie within one of its own', () => {
  const list = makeAddressList(['10.0.0.0/8', '2001:db8::/32'])
  for (const inner of ['10.1.0.0/16', '10.0.0.0/8', '10.255.255.255', '::ffff:10.1.0.0/112', '2001:db8:5::/48'])
    assert.equal(list.covers(inner), true, inner)
  for (const wider of ['10.0.0.0/7', '11.0.0.0/8', '0.0.0.0/0', '::/0', '2001::/16', '::ffff:0:0/96', 'nonsense'])
    assert.equal(list.covers(wider), false, wider)
})

test('isNetwork accepts only addresses and networks', () => {
  for (const good of ['0.0.0.0/0', '::/0', '192.0.2.1', '::1', 'fd12::/48']) assert.equal(isNetwork(good), true, good)
  for (const bad of ['', '1.2.3', '1.2.3.4/33', '::/129', 'a.example', '1.2.3.4/', 'fe80::1%eth0', '1.2.3.4/-1'])
    assert.equal(isNetwork(bad), false, bad)
})

test('a peer is an IPv4 address or the /64 of an IPv6 address', () => {
  assert.equal(peerKeyOf('192.0.2.1'), peerKeyOf('::ffff:192.0.2.1'))
  assert.notEqual(peerKeyOf('192.0.2.1'), peerKeyOf('192.0.2.2'))
  assert.equal(peerKeyOf('2001:db8:1:2::1'), peerKeyOf('2001:db8:1:2:ffff:ffff:ffff:ffff'))
  assert.notEqual(peerKeyOf('2001:db8:1:2::1'), peerKeyOf('2001:db8:1:3::1'))
  assert.equal(peerKeyOf('not an address'), '')
})
