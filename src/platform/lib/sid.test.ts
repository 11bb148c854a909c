import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSid, printSid } from './sid.ts'

const id = '01a1fcca-93ab-7cbc-9f10-be702f775479'

test('a SID is its prefix and the digits of the uuid, and is read back', () => {
  const sid = printSid('SM', id)
  assert.equal(sid, 'SM01a1fcca93ab7cbc9f10be702f775479')
  assert.equal(parseSid('SM', sid), id)
  assert.equal(parseSid(['SM', 'MM'], `MM${sid.slice(2)}`), id)
})

test('another prefix, length, letter case or sign is no SID', () => {
  const digits = id.replaceAll('-', '')
  for (const text of [
    `PN${digits}`,
    `SM${digits}0`,
    `SM${digits.slice(1)}`,
    `SM${digits.toUpperCase()}`,
    `SM${id}`,
    '',
  ])
    assert.equal(parseSid('SM', text), null, text)
})
