#!/usr/bin/env node
// The program of the package: starts a platform in this folder, or runs a command of src/interfaces/cli, on the pinned
// Node. In a checkout it first makes the checkout ready. Runs on the machine's own Node (20.19 or newer), so: plain
// JavaScript, `node:` imports only.
//
//   trunkline [start]       starts a platform
//   trunkline NOUN VERB …   runs a command; see trunkline --help

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runNode } from './run-node.mjs'

const root = join(import.meta.dirname, '..')
/** The package that npm installs has JavaScript, and nothing to prepare. */
const isCheckout = existsSync(join(root, 'scripts/ready.mjs'))
// npm start has done so.
if (isCheckout && process.env.npm_lifecycle_event !== 'start') await import('../scripts/ready.mjs')

const [first = 'start', ...others] = process.argv.slice(2)
const isStart = first === 'start'
const program = (path) => join(root, `${path}.${isCheckout ? 'ts' : 'js'}`)
// Measured: a command takes 0.13 s of processor time with the cache, 0.28 without.
const cache = join(root, isCheckout ? 'node_modules/.cache/compile' : '.cache/compile')
const env = { NODE_COMPILE_CACHE: cache, ...(isStart ? { MALLOC_ARENA_MAX: '1' } : {}), ...process.env }
const preload = isCheckout ? [`--import=${pathToFileURL(join(root, 'scripts/preload.mjs'))}`] : []
const args = isStart
  ? ['--disable-sigusr1', ...preload, program('src/main'), ...others]
  : [...preload, program('src/interfaces/cli/main'), first, ...others]

runNode(root, args, env)
