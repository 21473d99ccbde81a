import { Button, Card, Group, Stack, Table, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { call } from '../api.ts'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { WideTable } from '../ui/wide-table.tsx'

/** Who did what from where, newest first. */
export function AuditSection() {
  const query = useInfiniteQuery({
    queryKey: ['audit'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call(
        'GET /v1/audit',
        { query: { limit: 50, ...(pageParam === undefined ? {} : { cursor: pageParam }) } },
        signal
      ),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined
  })
  const entries = query.data?.pages.flatMap(({ data }) => data) ?? []
  return (
    <Card withBorder>
      <Title order={2} size="h4" mb="sm">
        Audit log
      </Title>
      <ProblemAlert error={query.error} again={() => void query.refetch()} />
      <Stack>
        <WideTable label="Audit log" minWidth={560}>
          <Table striped verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th>Who</Table.Th>
                <Table.Th>What</Table.Th>
                <Table.Th>From</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {entries.map(({ id, at, actor, action, target, address }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <RelativeTime at={at} />
                  </Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{actor.name ?? actor.kind}</Table.Td>
                  <Table.Td>
                    {action.replace('.', ' ').replaceAll('_', ' ')}
                    {target?.name ? (
                      <Text span size="sm" c="dimmed">
                        {' '}
                        {target.name}
                      </Text>
                    ) : null}
                  </Table.Td>
                  <Table.Td>{address ?? ''}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </WideTable>
        {query.hasNextPage ? (
          <Group>
            <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Show older ones
            </Button>
          </Group>
        ) : null}
      </Stack>
    </Card>
  )
}
