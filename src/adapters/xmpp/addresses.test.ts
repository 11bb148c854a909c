import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAddresses } from './addresses.ts'

const settings = {
  mode: 'component',
  host: 'h',
  port: 1,
  domain: 'people.example',
  component: 'gate.people.example',
} as const
const addresses = makeAddresses(settings, (number) => number === '+447911123456')

test('only addresses of our own server count as phone numbers', () => {
  assert.equal(addresses.numberOf('447911123457@people.example/phone'), '+447911123457')
  assert.equal(addresses.numberOf('447911123456@gate.people.example'), '+447911123456')
  for (const jid of [
    '447911123457@evil.example',
    '447911123457@people.example.evil.example',
    'people.example',
    'ada@people.example',
    '0447911123457@people.example',
    '123@people.example',
    '447911123457@evil.example/x@people.example',
    '',
  ]) {
    assert.equal(addresses.numberOf(jid), null, jid)
  }
})

test('a number of ours is addressed under the component, others under the domain', () => {
  assert.equal(addresses.jidOf('+447911123456'), '447911123456@gate.people.example')
  assert.equal(addresses.jidOf('+447911123457'), '447911123457@people.example')
  assert.equal(addresses.ofPeer({ number: '+447911123457', remote: 'ada@else.example' }), 'ada@else.example')
})
