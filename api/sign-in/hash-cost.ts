/** OWASP's floor: 19 MiB, two passes, one lane (8 ms on a small machine). Argon2id is the library's standard. */
export const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
